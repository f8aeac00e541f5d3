/** The start page with the list of applications. */
import { createRoot } from "react-dom/client";
import "../shared/base.css";
import "./start.css";
import { PageLayout } from "../shared/page-layout";
import { text } from "../shared/strings";

function StartPage() {
  return (
    <PageLayout>
      <main id="content" class="start" tabIndex={-1}>
        <h1>{text.start.title}</h1>
        <p class="lead">{text.start.lead}</p>
        <ul class="cards">
          {text.start.apps.map(({ name, description, href }) => (
            <li key={name} class={href ? "card is-live" : "card"}>
              <h2>{href ? <a href={href}>{name}</a> : name}</h2>
              <p>{description}</p>
              <p class="card-action">{href ? `${text.start.open} →` : text.start.next}</p>
            </li>
          ))}
        </ul>
      </main>
    </PageLayout>
  );
}

createRoot(document.getElementById("root")!).render(<StartPage />);
