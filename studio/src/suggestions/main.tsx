/** The suggestions page: `/suggestions` to post and to look around, `/suggestions/{postId}` for what was found. */
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import "../shared/base.css";
import "../shared/run.css";
import "./suggestions.css";
import { json } from "../shared/api";
import { Frame } from "../shared/frame";
import { useKeys } from "../shared/keys";
import { Form } from "./form";
import { addressOf, Posts } from "./list";
import { Room } from "./room";
import { text } from "./strings";
import type { Settings } from "./types";

function Page() {
  const id = decodeURIComponent(/^\/suggestions\/([^/]+)/.exec(location.pathname)?.[1] ?? "");
  const [settings, setSettings] = useState<Settings>();
  useEffect(() => {
    // Without settings the page still works: the server has its own defaults.
    json<Settings>("/api/suggestions/settings").then(setSettings, () => {});
  }, []);
  const go = (address: string) => location.assign(address);
  useKeys({ n: () => go("/suggestions"), ...(id ? { "/": () => go("/suggestions#search") } : {}) });
  if (id) return <Frame keys={text.pressed} here={<a href="/suggestions">{text.fresh}</a>}><Room id={id} settings={settings} /></Frame>;
  return (
    <Frame keys={text.pressed} here={<span>{text.page}</span>}>
      <main id="content" class="lobby" tabIndex={-1}>
        <div>
          <h1>{text.title}</h1>
          <p class="lead">{text.lead}</p>
          <Form posted={(post) => go(addressOf(post.id))} />
        </div>
        <Posts settings={settings} />
      </main>
    </Frame>
  );
}

createRoot(document.getElementById("root")!).render(<Page />);
