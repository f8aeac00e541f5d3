/** Who sits here: chosen once, kept in this browser. */
import { Letter } from "./signs";
import { text } from "./strings";
import type { Member, Settings } from "./types";

const words = text.who;

export function Who({ settings, isUnknown, choose }: { settings: Settings; isUnknown: boolean; choose(id: string): void }) {
  return (
    <main id="content" class="who" tabIndex={-1}>
      <h1>{words.title}</h1>
      <p class="lead">{words.lead}</p>
      {isUnknown && <p class="problem" role="alert">{words.unknown}</p>}
      <ul>
        {settings.members.map(({ id, name, role }) => (
          <li key={id}>
            <button type="button" data-member={id} onClick={() => choose(id)}>
              <Letter id={id} name={name} members={settings.members} />
              <span class="name" dir="auto">{name}</span>
              <span class="role">{words.roles[role] ?? role}</span>
            </button>
          </li>
        ))}
      </ul>
    </main>
  );
}

export function You({ members, userId, choose }: { members: Member[]; userId: string; choose(id: string): void }) {
  return (
    <label class="you">
      <span>{words.you}</span>
      <select id="user" value={userId} onChange={(event) => choose(event.currentTarget.value)}>
        {members.map(({ id, name }) => <option key={id} value={id}>{name}</option>)}
      </select>
    </label>
  );
}
