/** Speech to text, where the browser can do it. */
import { useEffect, useRef, useState } from "react";

/** What of the browser's recogniser is used; it is in no standard library of types yet. */
interface Recogniser {
  lang: string;
  interimResults: boolean;
  onresult: ((event: { results: ArrayLike<ArrayLike<{ transcript: string }>> }) => void) | null;
  onerror: ((event: { error: string }) => void) | null;
  onend: (() => void) | null;
  start(): void;
  stop(): void;
  abort(): void;
}

type Maker = new () => Recogniser;

function maker(): Maker | undefined {
  const host = window as unknown as { SpeechRecognition?: Maker; webkitSpeechRecognition?: Maker };
  return host.SpeechRecognition ?? host.webkitSpeechRecognition;
}

export interface Hearing {
  /** None where the browser cannot. */
  toggle?: () => void;
  isListening: boolean;
  /** `not-allowed`, `no-speech` and the like. */
  error: string;
}

export function useHearing(heard: (words: string) => void): Hearing {
  const [isListening, setListening] = useState(false);
  const [error, setError] = useState("");
  const latest = useRef(heard);
  latest.current = heard;
  const current = useRef<Recogniser>(undefined);
  useEffect(() => () => current.current?.abort(), []);
  const Make = maker();
  if (!Make) return { isListening: false, error: "" };
  const toggle = () => {
    if (isListening) return current.current?.stop();
    setError("");
    const recogniser = new Make();
    recogniser.lang = document.documentElement.lang;
    recogniser.interimResults = true;
    recogniser.onresult = ({ results }) => latest.current(Array.from(results, (result) => result[0]?.transcript ?? "").join(" ").replace(/\s+/g, " ").trim());
    recogniser.onerror = (event) => setError(event.error);
    recogniser.onend = () => setListening(false);
    current.current = recogniser;
    try {
      recogniser.start();
      setListening(true);
    } catch {
      setError("not-allowed");
    }
  };
  return { toggle, isListening, error };
}
