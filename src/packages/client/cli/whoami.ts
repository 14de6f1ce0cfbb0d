import type { OwnAccount } from '../api.ts';
import { command } from './command.ts';
import { printRecord } from './print.ts';
import type { Session } from './session.ts';
import { formatTime } from './terminal/time.ts';

export const whoami = command({
  name: 'whoami',
  description: 'Shows the service, the account, the member and the scopes of the credential.',
  args: {},
  examples: ['countersign whoami'],
  async run({ session }) {
    await printIdentity(session, await session.client.getOwnAccount());
  },
});

/** Prints as whom a session acts. */
export async function printIdentity(session: Session, account: OwnAccount): Promise<void> {
  const { baseUrl, source, expiresAt } = session.access;
  const { member, scopes, ...owner } = account;
  const identity = {
    url: baseUrl,
    credential: source,
    expires_at: expiresAt,
    account: owner,
    member,
    scopes,
  };
  await printRecord(session, identity, () =>
    session.facts([
      ['Service', baseUrl],
      ['Account', `${account.name ?? account.email} (${account.id}, ${account.plan})`],
      ['Member', describeMember(member)],
      ['Stopped', describeStop(account.stopped)],
      ['Scopes', scopes.join(', ')],
      ['Credential', `from ${SOURCES[source]}`],
      ['Expires at', formatTime(expiresAt)],
    ]),
  );
}

function describeStop(stopped: OwnAccount['stopped']): string | null {
  if (!stopped) return null;
  const reason = stopped.reason === null ? '' : `: ${stopped.reason}`;
  return `since ${formatTime(stopped.at)}, by ${stopped.by}${reason}`;
}

const SOURCES = { login: 'countersign login', COUNTERSIGN_API_KEY: 'COUNTERSIGN_API_KEY' };

function describeMember(member: OwnAccount['member']): string {
  if (!member) return 'none: a token of the account';
  return `${member.name ?? member.email ?? member.id} (${member.role})`;
}
