import type { Permission } from '../api.ts';
import type { CliClient } from './client.ts';
import { command } from './command.ts';
import { inboxColumns } from './inbox/columns.ts';
import { runInbox } from './inbox/run-inbox.ts';
import { Names } from './names.ts';
import { printList } from './print.ts';

export const inbox = command({
  name: 'inbox',
  description:
    'Shows the requests that wait for a decision, the most urgent first. On a terminal you decide them here.',
  args: {},
  notes: [
    'Keys: arrows or j and k move, Enter shows a request, a approves it, d denies it, with a reason if you type one, Escape goes back, ' +
      'r reads the list again, q ends. An approval is asked for once more after the whole request was shown.',
  ],
  examples: ['countersign inbox', 'countersign inbox --json | jq -r \'.id + " " + .action\''],
  async run({ session, args }) {
    const { io, client } = session;
    if (io.stdin.isTTY && io.stdout.isTTY && !args.json)
      return await runInbox(session, () => readPending(client));
    const names = new Names(client);
    await printList(
      session,
      await readPending(client),
      inboxColumns(client.clock.now(), names),
      (waiting) => names.load(waiting.map(({ agent_id }) => agent_id)),
    );
    return;
  },
});

/** Reads all requests that wait, the most urgent first. */
async function readPending(client: CliClient): Promise<Permission[]> {
  const waiting: Permission[] = [];
  for await (const permission of client.listPermissions({ status: 'pending', limit: 100 }))
    waiting.push(permission);
  return waiting.sort((one, other) => one.expires_at.localeCompare(other.expires_at));
}
