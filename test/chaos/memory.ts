import type { Client } from './client.ts';

/** Whether something happened, as far as its answers tell. */
export type Certainty = 'done' | 'lost' | 'refused';

export interface KnownAgent {
  id: string;
  client: Client;
  /** `maybe` once its deletion was asked for and not answered. */
  alive: 'yes' | 'maybe' | 'no';
  /** Keys that were replaced at once. */
  revoked: Client[];
  /** Whether the answer to the last rotation was lost, and nobody knows its key. */
  isLockedOut: boolean;
}

export interface KnownPermission {
  id: string;
  agent: KnownAgent;
  status: string;
  /** The token itself, once it was read. */
  token?: string;
}

/** Something that was asked for and leaves one entry, which carries its mark. */
export interface Step {
  event: 'request' | 'approve' | 'deny' | 'revoke';
  agent: KnownAgent;
  certainty: Certainty;
  sentAt: number;
  /** When its answer came. */
  answeredAt: number;
  permission?: string;
  /** What a policy made of a request on the spot, as it was answered. */
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
  /** When it was made, or last switched on. */
  madeAt: number;
  alive: boolean;
  /** Whether it is on; null where an answer was lost. */
  isOn: boolean | null;
  /** When it was off, surely: nothing of then is ever sent. */
  silences: { from: number; to: number }[];
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

/** What may happen in an account. */
export interface Traits {
  name: string;
  plan: string;
  losesAgents: boolean;
  changesPlan: boolean;
  /** Whether its log begins with entries of weeks ago, and how long it is kept changes. */
  isOld: boolean;
}

/** Everything that an account was answered. */
export class Memory {
  readonly traits: Traits;
  readonly id: string;
  readonly user: Client;
  readonly token: string;
  readonly agents: KnownAgent[] = [];
  readonly permissions: KnownPermission[] = [];
  /** By mark: the resource of a request, the reason of a decision. */
  readonly steps = new Map<string, Step>();
  /** Of each permission the uses that were answered by their numbers, and how many answers were lost. */
  readonly uses = new Map<string, { answered: number[]; lost: number }>();
  readonly files: KnownFile[] = [];
  readonly webhooks: KnownWebhook[] = [];
  readonly policies: { id: string; alive: boolean }[] = [];
  /** Notes of the heads that were shown, by the size of the log. */
  readonly checkpoints = new Map<number, string>();
  /** Entries that were written before the kills, and lie weeks back, as they were shown then. */
  past: ShownEntry[] = [];
  /** Whether the account itself is there; `maybe` once its deletion was asked for and not answered. */
  alive: 'yes' | 'maybe' | 'no' = 'yes';
  /** Agents that have such entries. */
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

  /** A text that stands nowhere else in the account. */
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
