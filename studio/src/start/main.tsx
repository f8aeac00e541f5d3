/** The start page: what this is, and what runs on it. */
import { createRoot } from "react-dom/client";
import "../shared/base.css";
import "./start.css";
import { Frame } from "../shared/frame";
import { text } from "../shared/strings";

function Start() {
  return (
    <Frame>
      <main id="content" class="start" tabIndex={-1}>
        <h1>{text.start.title}</h1>
        <p class="lead">{text.start.lead}</p>
        <ul class="cards">
          {text.start.apps.map(({ name, line, href }) => (
            <li key={name} class={href ? "card is-live" : "card"}>
              <h2>{href ? <a href={href}>{name}</a> : name}</h2>
              <p>{line}</p>
              <p class="state">{href ? `${text.start.open} →` : text.start.next}</p>
            </li>
          ))}
        </ul>
      </main>
    </Frame>
  );
}

createRoot(document.getElementById("root")!).render(<Start />);
