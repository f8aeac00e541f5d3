/** The assistant page: `/assistant` to ask, `/assistant/{sessionId}` for the conversation. */
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import "../shared/base.css";
import "../shared/run.css";
import "./assistant.css";
import { json } from "../shared/api";
import { Frame } from "../shared/frame";
import { useKeys } from "../shared/keys";
import { chosenOf, ModelLabel } from "../shared/model";
import { remember, remembered } from "../shared/theme";
import { Composer } from "./composer";
import { begin } from "./listen";
import { Room } from "./room";
import { Side, Who } from "./side";
import { text } from "./strings";
import type { Settings } from "./types";

const USER = "superstep.user";
/** Who asks when nobody was chosen and the server names nobody. */
const NOBODY = "guest";

function Page() {
  const id = decodeURIComponent(/^\/assistant\/([^/]+)/.exec(location.pathname)?.[1] ?? "");
  const [settings, setSettings] = useState<Settings>();
  const [isAsked, setAsked] = useState(false);
  const [chosen, setChosen] = useState(remembered(USER) ?? "");
  const known = settings?.users.find((user) => user.id === chosen) ?? settings?.users[0];
  const userId = known?.id ?? (isAsked ? chosen || NOBODY : "");
  useEffect(() => {
    const ending = new AbortController();
    // First who there is, then what the one who asks may use. Without settings the page still works: the server has its own defaults.
    const address = `/api/assistant/settings${userId && `?${new URLSearchParams({ userId })}`}`;
    const asking = json<Settings>(address, { signal: ending.signal }).then(setSettings, () => {});
    void asking.finally(() => !ending.signal.aborted && setAsked(true));
    return () => ending.abort();
  }, [userId]);
  const go = (address: string) => location.assign(address);
  useKeys({ n: () => go("/assistant") });
  const choose = (user: string) => {
    remember(USER, user);
    setChosen(user);
  };
  if (id) {
    // A conversation belongs to the one who began it.
    const leave = (user: string) => {
      choose(user);
      go("/assistant");
    };
    const beside = (stamp: string) => <Side settings={settings} userId={userId} id={id} stamp={stamp} choose={leave} />;
    const who = <Who settings={settings} userId={userId} choose={choose} />;
    return (
      <Frame keys={text.pressed} here={<a href="/assistant">{text.fresh}</a>}>
        {userId === "" ? <main id="content" class="desk" tabIndex={-1} aria-busy={true} /> : <Room key={userId} id={id} userId={userId} settings={settings} beside={beside} who={who} />}
      </Frame>
    );
  }
  return (
    <Frame keys={text.pressed} here={<span>{text.page}</span>}>
      <main id="content" class="desk is-new" tabIndex={-1}>
        <Lobby settings={settings} userId={userId} go={go} />
        <Side settings={settings} userId={userId} stamp="" choose={choose} />
      </main>
    </Frame>
  );
}

function Lobby({ settings, userId, go }: { settings?: Settings; userId: string; go(address: string): void }) {
  const tables = settings?.data?.tables?.map((table) => (typeof table === "string" ? table : table.name)) ?? [];
  const model = chosenOf(settings?.models, "");
  const say = async (message: string, name: string) => {
    const id = await begin({ message, userId: userId || NOBODY, ...(name ? { model: name } : {}) });
    go(`/assistant/${encodeURIComponent(id)}`);
  };
  return (
    <div class="stage">
      <h1>{text.title}</h1>
      <p class="lead">{text.lead}</p>
      <Composer isFirst settings={settings} examples={settings?.examples} say={say} />
      {tables.length > 0 && <p class="hint tables">{text.tables(tables)}</p>}
      {model && <ModelLabel model={model} />}
    </div>
  );
}

createRoot(document.getElementById("root")!).render(<Page />);
