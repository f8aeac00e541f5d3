/** The debate page: `/debate` to start one, `/debate/{id}` to watch it. */
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import "../shared/base.css";
import "../shared/run.css";
import "./debate.css";
import { json } from "../shared/api";
import { Frame } from "../shared/frame";
import { useKeys } from "../shared/keys";
import { Form } from "./form";
import { Hall } from "./hall";
import { PastDebates } from "./past";
import { text } from "./strings";
import type { Settings } from "./types";

function Page() {
  const id = decodeURIComponent(/^\/debate\/([^/]+)/.exec(location.pathname)?.[1] ?? "");
  const [settings, setSettings] = useState<Settings>();
  useEffect(() => {
    // Without settings the page still works: the server has its own defaults.
    json<Settings>("/api/debate/settings").then(setSettings, () => {});
  }, []);
  const go = (address: string) => location.assign(address);
  useKeys({ n: () => go("/debate"), ...(id ? { "/": () => go("/debate#search") } : {}) });
  if (id) return <Frame keys={text.pressed} here={<a href="/debate">{text.debate.fresh}</a>}><Hall id={id} settings={settings} /></Frame>;
  return (
    <Frame keys={text.pressed} here={<span>{text.debate.page}</span>}>
      <main id="content" class="lobby" tabIndex={-1}>
        <div>
          <h1>{text.form.title}</h1>
          <p class="lead">{text.form.lead}</p>
          <Form settings={settings} started={(started) => go(`/debate/${encodeURIComponent(started)}`)} />
        </div>
        <PastDebates />
      </main>
    </Frame>
  );
}

createRoot(document.getElementById("root")!).render(<Page />);
