import type { Client } from './client.ts';

/** Whether a call took effect, as far as its answers show. */
export type Certainty = 'done' | 'lost' | 'refused';

export interface KnownAgent {
  id: string;
  client: Client;
  /** `maybe` after its deletion was requested and before it was answered. */
  alive: 'yes' | 'maybe' | 'no';
  /** Clients with keys that a rotation revoked immediately. */
  revoked: Client[];
  /** Whether the answer to a rotation was lost, so that the newest key is unknown. */
  isLockedOut: boolean;
}

export interface KnownPermission {
  id: string;
  agent: KnownAgent;
  status: string;
  /** Whether the request promised an outcome. */
  reportsOutcome: boolean;
  /** Who took the use, as far as it is known; null before it. */
  user: Client | null;
  /** The outcomes that were reported, and whether the service answered that it took them. */
  reports: { status: string; certainty: Certainty }[];
  /** The series that it asked for; null if it asked for none. */
  series: KnownSeries | null;
  /** The digest of the input, which a use has to name; null without an input. */
  digest: string | null;
  /** The value of the token, after it was read. */
  token?: string;
}

/** A run of like acts that a request asked for. */
export interface KnownSeries {
  action: string;
  resource: string;
  requests: number;
  expires_in: number;
  /** Whether a member gave it, as far as the answers show. */
  given: Certainty | null;
  /** When somebody ended it, and the service had answered; null before. */
  endedAt: number | null;
}

/** A member who may give series. */
export interface KnownGiver {
  client: Client;
  /** The ids of the member, who may be suspended, and of another one; null for the only owner. */
  members: { own: string; other: string } | null;
}

/** A request that leaves at most one entry, which contains the step's mark. */
export interface Step {
  event: 'request' | 'approve' | 'deny' | 'revoke';
  agent: KnownAgent;
  certainty: Certainty;
  sentAt: number;
  /** When its answer arrived. */
  answeredAt: number;
  permission?: string;
  /** The status in the answer to a request, which shows a policy's decision. */
  decision?: string;
}

export interface KnownFile {
  id: string;
  kind: 'export' | 'report';
  format: string;
  withDetails: boolean;
  agent: string | null;
  events: string[] | null;
  sentAt: number;
}

export interface KnownWebhook {
  id: string;
  path: string;
  /** When it was created or last enabled. */
  madeAt: number;
  alive: boolean;
  /** Whether it is enabled; null if an answer was lost. */
  isOn: boolean | null;
  /** Times in which it was certainly disabled: their entries are never sent. */
  silences: { from: number; to: number }[];
}

/** A connection to the stand-in. */
export interface KnownConnection {
  id: string;
  /** The path of its base URL. */
  place: string;
  secret: string;
  agents: KnownAgent[];
  /** `maybe` after its deletion was requested and before it was answered. */
  alive: 'yes' | 'maybe' | 'no';
}

/** An act through a connection, which may be tried several times. */
export interface KnownCall {
  connection: KnownConnection;
  agent: KnownAgent;
  mark: string;
  path: string;
  /** The idempotency key, if it has one. */
  key?: string;
  /** The status of each answer; null for one that was lost. */
  answers: (number | null)[];
}

/** An entry as the API shows it. */
export interface ShownEntry {
  id: string;
  sequence: number;
  user_id: string;
  agent_id: string;
  permission_request_id: string;
  event_type: string;
  details: { action: string; resource: string } & Record<string, unknown>;
  ip_address: string;
  user_agent: string;
  created_at: string;
}

/** What can happen in an account. */
export interface Traits {
  name: string;
  plan: string;
  losesAgents: boolean;
  /** Whether all of its agents are deleted at the end. */
  endsEmpty: boolean;
  changesPlan: boolean;
  /** Whether its log begins with entries that are weeks old, and its retention changes. */
  isOld: boolean;
}

/** Everything that is known of an account from its answers. */
export class Memory {
  readonly traits: Traits;
  readonly id: string;
  readonly user: Client;
  readonly token: string;
  /** A member who may decide, and so give a series; null if the account has none. */
  giver: KnownGiver | null = null;
  readonly agents: KnownAgent[] = [];
  readonly permissions: KnownPermission[] = [];
  /** Steps by mark, which is in the resource of a request or the reason of a decision. */
  readonly steps = new Map<string, Step>();
  /** By permission, the counts that answers to uses had, and how many answers were lost. */
  readonly uses = new Map<string, { answered: number[]; lost: number }>();
  readonly files: KnownFile[] = [];
  readonly webhooks: KnownWebhook[] = [];
  readonly connections: KnownConnection[] = [];
  readonly calls: KnownCall[] = [];
  readonly policies: { id: string; alive: boolean; hasBudget: boolean }[] = [];
  /** The notes of heads that were shown, by tree size. */
  readonly checkpoints = new Map<number, string>();
  /** Entries from before the kills, with times weeks ago, as the API showed them. */
  past: ShownEntry[] = [];
  /**
   * Whether the account exists; `maybe` after its deletion was requested and before it was
   * answered.
   */
  alive: 'yes' | 'maybe' | 'no' = 'yes';
  /** Ids of the agents of the entries in `past`. */
  oldAgents = new Set<string>();
  /** When the kills began. */
  beganAt = 0;
  private marks = 0;

  get pastEntries(): number {
    return this.past.length;
  }

  constructor(traits: Traits, id: string, token: string, user: Client) {
    this.traits = traits;
    this.id = id;
    this.token = token;
    this.user = user;
  }

  /** A text that is unique in the account. */
  newMark(): string {
    this.marks += 1;
    return `mark-${this.marks}`;
  }

  usesOf(permission: string): { answered: number[]; lost: number } {
    const uses = this.uses.get(permission) ?? { answered: [], lost: 0 };
    this.uses.set(permission, uses);
    return uses;
  }
}
