import { emitKeypressEvents } from 'node:readline';
import type { Permission } from '../../api.ts';
import { present } from '../../present.ts';
import type { CliClient } from '../client.ts';
import { EXIT } from '../exit-codes.ts';
import { explain } from '../failures.ts';
import { Names } from '../names.ts';
import type { Session } from '../session.ts';
import { drawInbox } from './draw-inbox.ts';
import { type Action, type InboxState, type Key, takeKey } from './inbox-state.ts';

type Decision = Extract<Action, { kind: 'approve' | 'deny' }>;

/** How often the list is read again, in milliseconds. */
const REFRESH = 10_000;

const OPEN_SCREEN = '\x1b[?1049h\x1b[?25l\x1b[?7l';
const CLOSE_SCREEN = '\x1b[?7h\x1b[?25h\x1b[?1049l';

/** Lets the person decide on the terminal, until they end it. */
export async function runInbox(
  session: Session,
  readPending: () => Promise<Permission[]>,
): Promise<number> {
  const { io, client, style } = session;
  const { stdin, stdout } = io;
  const state: InboxState = {
    requests: await readPending(),
    selected: null,
    view: 'list',
    card: null,
    scroll: 0,
    isRead: false,
    reason: '',
    message: '',
    isBusy: false,
  };
  state.selected = state.requests[0]?.id ?? null;

  const names = new Names(client);
  const loadNames = () => names.load(state.requests.map(({ agent_id }) => agent_id));
  await loadNames();

  // A request may still be in flight when the person ends the inbox.
  let isOver = false;
  const draw = () => {
    if (isOver) return;
    const lines = drawInbox(state, {
      width: stdout.columns || 80,
      height: stdout.rows || 24,
      style,
      baseUrl: client.baseUrl,
      now: client.clock.now(),
      names,
    });
    // Erases before writing: erasing after a full-width line would delete its last character.
    stdout.write(`\x1b[H${lines.map((line) => `\x1b[K${line}`).join('\r\n')}\r\n\x1b[J`);
  };
  const reload = async () => {
    state.requests = await readPending();
    await loadNames();
    if (!state.requests.some(({ id }) => id === state.selected))
      state.selected = state.requests[0]?.id ?? null;
  };
  const carryOut = async (action: Action): Promise<void> => {
    if (action.kind === 'open') {
      const card = await client.getPermission(action.id);
      Object.assign(state, { card, view: action.view, scroll: 0, isRead: false, reason: '' });
      return;
    }
    if (action.kind === 'approve' || action.kind === 'deny') {
      const message = await decide(client, action);
      Object.assign(state, { view: 'list', card: null, message });
    }
    await reload();
  };
  const perform = async (action: Action) => {
    state.isBusy = true;
    draw();
    await carryOut(action).catch((error: unknown) => {
      state.message = explain(error).lines[0] ?? '';
    });
    state.isBusy = false;
    draw();
  };

  return await new Promise((resolve) => {
    const quit = () => {
      isOver = true;
      clearInterval(timer);
      stdin.off('keypress', onKey).off('end', quit);
      stdout.off('resize', draw);
      process.off('SIGTERM', quit).off('SIGHUP', quit);
      stdin.setRawMode?.(false);
      stdin.pause();
      stdout.write(CLOSE_SCREEN);
      resolve(EXIT.done);
    };
    const onKey = (_: string | undefined, key: Key) => {
      const action = takeKey(state, key);
      if (action?.kind === 'quit') return quit();
      if (action) return void perform(action);
      draw();
    };
    const timer = setInterval(() => {
      if (!state.isBusy && state.view === 'list') void perform({ kind: 'reload' });
    }, REFRESH);
    emitKeypressEvents(stdin);
    stdin.setRawMode?.(true);
    stdin.on('keypress', onKey).on('end', quit).resume();
    stdout.on('resize', draw);
    process.on('SIGTERM', quit).on('SIGHUP', quit);
    stdout.write(OPEN_SCREEN);
    draw();
  });
}

/** Carries out a decision, and says what became of the request. */
async function decide(client: CliClient, decision: Decision): Promise<string> {
  const { id } = decision;
  if (decision.kind === 'deny') {
    const reason = decision.reason || undefined;
    const { action, resource } = await client.denyPermission(id, present({ reason }));
    return `Denied ${action} on ${resource} (${id}).`;
  }
  const { status, action, resource } = await client.approvePermission(id);
  if (status === 'pending')
    return `Your approval of ${action} on ${resource} counts; it needs more.`;
  return `Approved ${action} on ${resource} (${id}).`;
}
