/** Speech recognition of the browser, if available. */
import { useEffect, useRef, useState } from "react";

/** The used part of the browser API, which TypeScript does not declare. */
interface BrowserSpeechRecognition {
  lang: string;
  interimResults: boolean;
  onresult: ((event: { results: ArrayLike<ArrayLike<{ transcript: string }>> }) => void) | null;
  onerror: ((event: { error: string }) => void) | null;
  onend: (() => void) | null;
  start(): void;
  stop(): void;
  abort(): void;
}

type BrowserSpeechRecognitionConstructor = new () => BrowserSpeechRecognition;

function recognitionConstructor(): BrowserSpeechRecognitionConstructor | undefined {
  const host = window as unknown as { SpeechRecognition?: BrowserSpeechRecognitionConstructor; webkitSpeechRecognition?: BrowserSpeechRecognitionConstructor };
  return host.SpeechRecognition ?? host.webkitSpeechRecognition;
}

export interface SpeechInput {
  /** Undefined if the browser does not support it. */
  toggle?: () => void;
  isListening: boolean;
  /** Error code such as `not-allowed` or `no-speech`. */
  error: string;
}

export function useSpeechRecognition(onText: (transcript: string) => void): SpeechInput {
  const [isListening, setListening] = useState(false);
  const [error, setError] = useState("");
  const latest = useRef(onText);
  latest.current = onText;
  const current = useRef<BrowserSpeechRecognition>(undefined);
  useEffect(() => () => current.current?.abort(), []);
  const Recognition = recognitionConstructor();
  if (!Recognition) return { isListening: false, error: "" };
  const toggle = () => {
    if (isListening) return current.current?.stop();
    setError("");
    const recognition = new Recognition();
    recognition.lang = document.documentElement.lang;
    recognition.interimResults = true;
    recognition.onresult = ({ results }) => latest.current(Array.from(results, (result) => result[0]?.transcript ?? "").join(" ").replace(/\s+/g, " ").trim());
    recognition.onerror = (event) => setError(event.error);
    recognition.onend = () => setListening(false);
    current.current = recognition;
    try {
      recognition.start();
      setListening(true);
    } catch {
      setError("not-allowed");
    }
  };
  return { toggle, isListening, error };
}
