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
import { Side } from "./side";
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
  useEffect(() => {
    // Without settings the page still works: the server has its own defaults.
    json<Settings>("/api/assistant/settings").then(setSettings, () => {}).finally(() => setAsked(true));
  }, []);
  const go = (address: string) => location.assign(address);
  useKeys({ n: () => go("/assistant") });
  const known = settings?.users.find((user) => user.id === chosen) ?? settings?.users[0];
  const userId = known?.id ?? (isAsked ? chosen || NOBODY : "");
  const choose = (user: string) => {
    remember(USER, user);
    setChosen(user);
    // A conversation belongs to the one who began it.
    if (id) go("/assistant");
  };
  if (id) {
    const beside = (owner: string | undefined, stamp: string) => <Side settings={settings} userId={owner ?? userId} id={id} stamp={stamp} choose={choose} />;
    return <Frame keys={text.pressed} here={<a href="/assistant">{text.fresh}</a>}><Room id={id} settings={settings} beside={beside} /></Frame>;
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
