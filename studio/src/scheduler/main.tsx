/** The scheduler page: `/scheduler`, with what is shown and the conversation that is open in its query. */
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import "../shared/base.css";
import "../shared/run.css";
import "./colours.css";
import "./scheduler.css";
import "./calendar.css";
import "./print.css";
import type { Problem } from "../shared/api";
import { Frame } from "../shared/frame";
import { Trouble } from "../shared/line";
import { Skeleton } from "../shared/skeleton";
import { useSlow } from "../shared/slow";
import { remember, remembered } from "../shared/theme";
import { api, problemOf } from "./api";
import { Desk } from "./desk";
import { text } from "./strings";
import type { Settings } from "./types";
import { Who, You } from "./who";

const USER = "superstep.scheduler.user";
/** The time of the server is asked for again, in case a clock was changed or the machine slept. */
const AGAIN_MS = 5 * 60_000;

function Page() {
  const [userId, setUserId] = useState(remembered(USER) ?? "");
  const [isUnknown, setUnknown] = useState(false);
  const { settings, problem, again } = useSettings(userId);
  const slow = useSlow(!settings && !problem);
  const choose = (id: string) => {
    remember(USER, id);
    setUnknown(false);
    setUserId(id);
  };
  useEffect(() => {
    if (problem?.status !== 403 || !userId) return;
    // Somebody who left the family, or another family on this address.
    choose("");
    setUnknown(true);
  }, [problem]);
  const isKnown = settings !== undefined && userId !== "" && settings.now !== undefined;
  const here = (
    <span class="here">
      <span class="page-name">{settings?.family.name ?? text.page}</span>
      {isKnown && <You members={settings.members} userId={userId} choose={choose} />}
    </span>
  );
  return (
    <Frame keys={text.pressed} here={here}>
      {isKnown ? <Desk key={userId} settings={settings} userId={userId} />
        : settings && !userId ? <Who settings={settings} isUnknown={isUnknown} choose={choose} />
        : (
          <main id="content" tabIndex={-1} aria-busy={!problem}>
            <h1 class="hidden">{text.page}</h1>
            {problem && <Trouble problem={problem} tryAgain={again} />}
            {slow > 0 && <Skeleton lines={8} />}
            {slow > 1 && <p role="status">{text.loading}</p>}
          </main>
        )}
    </Frame>
  );
}

/** The family as this member sees it; without a member, only who there is to choose from. */
function useSettings(userId: string): { settings?: Settings; problem?: Problem; again(): void } {
  const [known, setKnown] = useState<{ userId: string; settings: Settings }>();
  const [problem, setProblem] = useState<Problem>();
  const [turn, setTurn] = useState(0);
  const again = () => setTurn((number) => number + 1);
  useEffect(() => {
    const ending = new AbortController();
    api.settings(userId, ending.signal).then(
      (settings) => { setKnown({ userId, settings }); setProblem(undefined); },
      (cause) => ending.signal.aborted || setProblem(problemOf(cause)),
    );
    const timer = setInterval(() => document.hidden || again(), AGAIN_MS);
    addEventListener("online", again);
    return () => {
      ending.abort();
      clearInterval(timer);
      removeEventListener("online", again);
    };
  }, [userId, turn]);
  // What belongs to somebody else is not shown while the new one is waited for; what is known stays while nobody answers.
  const settings = known?.userId === userId ? known.settings : undefined;
  return { settings, problem: settings ? undefined : problem, again };
}

createRoot(document.getElementById("root")!).render(<Page />);
