import type { CommandEntry } from './command.ts';

/** Every command by its name. Each is loaded only when it runs. */
export const COMMANDS: Record<string, CommandEntry> = {
  login: [
    'Sign in with the console in the browser',
    async () => (await import('./login.ts')).login,
  ],
  logout: ['Revoke the token of this machine', async () => (await import('./logout.ts')).logout],
  whoami: [
    'Show as whom and with what you are signed in',
    async () => (await import('./whoami.ts')).whoami,
  ],
  inbox: ['Decide the requests that wait', async () => (await import('./inbox.ts')).inbox],
  show: ['Show a request', async () => (await import('./show.ts')).show],
  approve: [
    'Approve a request, also with narrower limits',
    async () => (await import('./approve.ts')).approve,
  ],
  deny: ['Deny a request', async () => (await import('./deny.ts')).deny],
  outcome: ['Report what happened after a use', async () => (await import('./outcome.ts')).outcome],
  stop: ['Stop all agents of the account', async () => (await import('./stop.ts')).stop],
  receipt: [
    'Download the receipt of a request',
    async () => (await import('./receipt.ts')).receipt,
  ],
  verify: ['Check a receipt', async () => (await import('./verify.ts')).verify],
  'series end': ['End a series', async () => (await import('./series/end.ts')).endSeries],
  run: ['Run a command only after it was approved', async () => (await import('./run.ts')).run],
  'agents list': ['List the agents', async () => (await import('./agents/list.ts')).listAgents],
  'agents show': [
    'Show an agent and its statistics',
    async () => (await import('./agents/show.ts')).showAgent,
  ],
  'agents create': [
    'Register an agent',
    async () => (await import('./agents/create.ts')).createAgent,
  ],
  'agents rotate-key': [
    'Replace the key of an agent',
    async () => (await import('./agents/rotate-key.ts')).rotateKey,
  ],
  'policies list': [
    'List the policies',
    async () => (await import('./policies/list.ts')).listPolicies,
  ],
  'policies test': [
    'Tell what the policies decide',
    async () => (await import('./policies/test.ts')).testPolicies,
  ],
  'policies replay': [
    'Try a draft on past requests',
    async () => (await import('./policies/replay.ts')).replayPolicy,
  ],
  'connections list': [
    'List the connections',
    async () => (await import('./connections/list.ts')).listConnections,
  ],
  'connections show': [
    'Show a connection and its rules',
    async () => (await import('./connections/show.ts')).showConnection,
  ],
  'connections create': [
    'Let Countersign keep a credential',
    async () => (await import('./connections/create.ts')).createConnection,
  ],
  'connections test': [
    'Read a path of the other service',
    async () => (await import('./connections/test.ts')).testConnection,
  ],
  'connections delete': [
    'Delete a connection',
    async () => (await import('./connections/delete.ts')).deleteConnection,
  ],
  'audit list': [
    'List entries of the audit log',
    async () => (await import('./audit/list.ts')).listEntries,
  ],
  'audit tail': ['Follow the audit log', async () => (await import('./audit/tail.ts')).tailEntries],
  'audit export': [
    'Download the audit log',
    async () => (await import('./audit/export.ts')).exportEntries,
  ],
  'audit verify': [
    'Prove that an entry is in the log',
    async () => (await import('./audit/verify.ts')).verifyEntry,
  ],
  'mcp wrap': [
    'Put an MCP server behind Countersign',
    async () => (await import('./mcp/wrap.ts')).wrap,
  ],
  'hook claude-code': [
    'Answer a hook event of Claude Code',
    async () => (await import('./hook/hook.ts')).makeHook('claude-code'),
  ],
  'hook codex': [
    'Answer a hook event of Codex',
    async () => (await import('./hook/hook.ts')).makeHook('codex'),
  ],
  'hook cursor': [
    'Answer a hook event of Cursor',
    async () => (await import('./hook/hook.ts')).makeHook('cursor'),
  ],
  'hook install': [
    'Put a coding agent behind Countersign',
    async () => (await import('./hook/install.ts')).install,
  ],
  'hook uninstall': [
    'Take the hook out of a coding agent',
    async () => (await import('./hook/uninstall.ts')).uninstall,
  ],
  api: ['Send any call of the API', async () => (await import('./api.ts')).api],
  completion: [
    'Print the completion script of a shell',
    async () => (await import('./completion.ts')).makeCompletion(COMMANDS),
  ],
};

/** The groups of commands, by the first word of their names. */
export const GROUPS: Record<string, string> = {
  series: 'Runs of like acts: end',
  agents: 'Agents: list, show, create, rotate-key',
  policies: 'Policies: list, test, replay',
  connections: 'Connections: list, show, create, test, delete',
  audit: 'The audit log: list, tail, export, verify',
  mcp: 'The Model Context Protocol: wrap',
  hook: 'Coding agents: claude-code, codex, cursor, install, uninstall',
};
