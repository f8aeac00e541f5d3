/** Selects the current member. The choice is saved in the browser. */
import { MemberBadge } from "./icons";
import { text } from "./strings";
import type { Member, Settings } from "./types";

const strings = text.memberSelect;

export function MemberSelectPage({ settings, isUnknown, onSelect }: { settings: Settings; isUnknown: boolean; onSelect(id: string): void }) {
  return (
    <main id="content" class="member-select" tabIndex={-1}>
      <h1>{strings.title}</h1>
      <p class="lead">{strings.lead}</p>
      {isUnknown && <p class="problem" role="alert">{strings.unknown}</p>}
      <ul>
        {settings.members.map(({ id, name, role }) => (
          <li key={id}>
            <button type="button" data-member={id} onClick={() => onSelect(id)}>
              <MemberBadge id={id} name={name} members={settings.members} />
              <span class="name" dir="auto">{name}</span>
              <span class="role">{strings.roles[role] ?? role}</span>
            </button>
          </li>
        ))}
      </ul>
    </main>
  );
}

export function MemberSelect({ members, userId, onSelect }: { members: Member[]; userId: string; onSelect(id: string): void }) {
  return (
    <label class="current-member">
      <span>{strings.you}</span>
      <select id="user" value={userId} onChange={(event) => onSelect(event.currentTarget.value)}>
        {members.map(({ id, name }) => <option key={id} value={id}>{name}</option>)}
      </select>
    </label>
  );
}
