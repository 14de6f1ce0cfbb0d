import type { Connection, ConnectionRule } from '../../api.ts';
import { Names } from '../names.ts';
import { printRecord } from '../print.ts';
import type { Session } from '../session.ts';
import { yesOrNo } from '../terminal/facts.ts';
import type { Column } from '../terminal/table.ts';
import { formatTime } from '../terminal/time.ts';

const EFFECTS: Record<ConnectionRule['effect'], string> = {
  ask: 'asks for permission',
  allow: 'is sent at once',
  deny: 'is refused',
};

const RULES: Column<ConnectionRule>[] = [
  { title: 'METHODS', value: ({ methods }) => methods?.join(' ') ?? 'any' },
  { title: 'PATHS', value: ({ paths }) => paths?.join(' ') ?? 'any' },
  { title: 'A CALL', value: ({ effect }) => EFFECTS[effect] },
  { title: 'AS', value: ({ action, title }) => title ?? action ?? '' },
];

/** Prints a connection: facts and its rules for people, or one line of JSON. */
export async function printConnection(session: Session, connection: Connection): Promise<void> {
  const { client, style } = session;
  const { auth, agent_ids, rules } = connection;
  const names = new Names(client);
  if (session.isHuman) await names.load(agent_ids);
  const credential = {
    none: 'none',
    basic: 'user and password',
    header: auth.type === 'header' ? `${auth.header}: ${auth.prefix}…` : null,
  };
  await printRecord(session, connection, () => [
    ...session.facts([
      ['Connection', connection.id],
      ['Name', connection.name],
      ['Slug', connection.slug],
      ['Base URL', connection.base_url],
      ['Agents call', `${client.baseUrl}/v1/connections/${connection.id}/proxy`],
      ['Credential', credential[auth.type]],
      ['Agents', agent_ids.map((id) => names.withId(id)).join(', ')],
      ['Active', yesOrNo(connection.is_active)],
      ['Created at', formatTime(connection.created_at)],
    ]),
    '',
    style.bold('The first rule that matches a call counts; a call that no rule matches is refused'),
    ...session.table(rules, RULES),
  ]);
}
