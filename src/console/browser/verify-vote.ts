import {
  type AssertionFault,
  findAssertionFault,
  readAssertion,
} from '../../packages/verify/core/assertion.ts';
import { decodeBase64Url } from '../../packages/verify/core/bytes.ts';
import { readCoseKey } from '../../packages/verify/core/cose-key.ts';
import { canonicalJson, type Json, type JsonObject } from '../../packages/verify/core/json.ts';
import { readSettlement, resolveScopes } from '../../packages/verify/core/settlement.ts';
import { challengeOf, rebuildStatement } from '../../packages/verify/core/statement.ts';
import { findDifferences } from './verify-difference';
import type { Finding } from './verify-finding';

/** The parts of an audit entry that say who decided what. */
export interface VoteEntry {
  user_id: string;
  agent_id: string;
  permission_request_id: string;
  event_type: string;
  created_at: string;
  details: {
    action: string;
    resource: string;
    scope: Json;
    decided_by: string | null;
    decision_reason: string | null;
    input_digest?: string | null;
    preview_digest?: string | null;
    policy_id?: string | null;
    /** In the entry of a request that a review policy routed. */
    review?: { approvals: number; passkey: boolean };
    /** In the entry of an approval that gave a series. */
    granted_series?: Json;
    votes?: Vote[];
  };
}

interface Vote {
  by: string;
  decision: string;
  scope?: JsonObject;
  token_ttl: number;
  max_uses: number;
  reason: string | null;
  signature?: Signature;
}

/** A signature by a passkey, in base64url. */
interface Signature {
  credential_id: string;
  signed_at: string;
  authenticator_data: string;
  client_data_json: string;
  signature: string;
}

/** The answer of `GET /v1/members/:id`. */
export interface Member {
  id: string;
  name: string | null;
  email: string;
  passkeys?: Passkey[];
}

interface Passkey {
  id: string;
  public_key: string;
  added_at: string;
  removed_at: string | null;
}

interface Decided {
  /** The entry that ended the request. */
  entry: VoteEntry;
  /** The entry of the request; null if it is the same, or gone. */
  request: VoteEntry | null;
  /** The member who voted. */
  member: Member | undefined;
}

/** The fault of a signature, as a sentence. */
const FAULTS: Record<AssertionFault, string> = {
  type: 'The passkey made this signature for another purpose.',
  challenge: 'The passkey signed another decision than the entry states.',
  origin: 'It was signed at another address of the service.',
  frame: 'It was signed in a frame of another site.',
  truncated: 'The data that the authenticator signed are cut off.',
  host: 'It was signed for another host.',
  presence: 'The passkey did not verify the person.',
  verification: 'The passkey did not verify the person.',
  backup: 'The statements of the authenticator about backups contradict each other.',
  signature: 'The signature was not made with the member’s passkey.',
};

/**
 * Checks that a passkey of the member signed the vote with this index: the statement that follows
 * from the entry (WebAuthn Level 3 section 7.2, steps 10 to 21).
 */
export async function checkVote(decided: Decided, index: number): Promise<Finding> {
  const { entry, member } = decided;
  const { signature } = voteAt(entry, index);
  if (!signature) {
    return {
      state: 'open',
      text: 'The vote is not signed with a passkey: only the service says who voted.',
    };
  }
  const passkey = member?.passkeys?.find(({ id }) => id === signature.credential_id);
  const evidence: Finding['evidence'] = [
    ['Passkey', signature.credential_id],
    ['Signed', signature.signed_at],
  ];
  const failed = (text: string, ...more: [string, string][]): Finding => {
    return { state: 'failed', text, evidence: [...more, ...evidence] };
  };
  if (!passkey) return failed('It is signed with a passkey that this member never had.');
  if (!wasInUse(passkey, signature.signed_at)) {
    return failed(
      'The member did not have the passkey when it signed.',
      ['Added', passkey.added_at],
      ['Removed', passkey.removed_at ?? 'no'],
    );
  }

  const assertion = readAssertion(signature);
  const { clientData } = assertion;
  if (clientData.origin !== location.origin) {
    return {
      state: 'open',
      text: 'It was signed at another address of the service. Use the command line, with the addresses that you trust.',
      evidence: [['Signed at', String(clientData.origin)], ...evidence],
    };
  }
  const statement = statementOf(decided, index);
  if (!statement) {
    const text =
      'The entry of the request is gone, and without it the signed statement is unknown.';
    return { state: 'open', text, evidence };
  }
  const [contradiction] = contradictions(entry, index, statement);
  if (contradiction) {
    return failed(
      `The ${contradiction.path} of the entry differs from that of the deciding vote.`,
      [contradiction.path, `${contradiction.one}; the vote has ${contradiction.other}`],
    );
  }
  const challenge = await challengeOf(statement);
  evidence.push(['Statement', canonicalJson(statement)]);
  const fault = await findAssertionFault(assertion, {
    challenge,
    origin: location.origin,
    key: await readCoseKey(readPublicKey(passkey.public_key)),
  });
  if (fault === 'challenge') {
    return failed(
      FAULTS.challenge,
      ['Hash of the stated decision', challenge],
      ['Hash that was signed', String(clientData.challenge)],
    );
  }
  if (fault === 'signature') return failed(FAULTS.signature, ['Public key', passkey.public_key]);
  if (fault) return failed(FAULTS[fault]);
  return {
    state: 'passed',
    text: 'A passkey of this member signed exactly what the entry states.',
    evidence,
  };
}

/** Whether the member had the passkey at a time. */
function wasInUse({ added_at, removed_at }: Passkey, at: string): boolean {
  if (at < added_at) return false;
  return removed_at === null || at <= removed_at;
}

/** @throws SyntaxError for a text that is not base64url */
function readPublicKey(text: string): Uint8Array {
  const bytes = decodeBase64Url(text);
  if (!bytes) throw new SyntaxError('the public key is not base64url');
  return bytes;
}

function voteAt({ details }: VoteEntry, index: number): Vote {
  return (details.votes ?? [])[index] as Vote;
}

/**
 * Where the entry of a decision differs from its last vote, whose scope, reason and member it
 * repeats.
 */
function contradictions({ event_type, details }: VoteEntry, index: number, statement: JsonObject) {
  if (event_type === 'expire' || index < (details.votes ?? []).length - 1) return [];
  const { scope, decided_by, decision_reason, granted_series = null } = details;
  const { decision, scope: voted = null, member_id = null, reason = null } = statement;
  const { series = null } = statement;
  return findDifferences(
    { event_type, scope, decided_by, decision_reason, granted_series },
    {
      event_type: decision ?? null,
      scope: voted,
      decided_by: member_id,
      decision_reason: reason,
      granted_series: series,
    },
  );
}

/** The statement that the member signed; null if the entries do not have all of it. */
function statementOf({ entry, request }: Decided, index: number): JsonObject | null {
  const settlement = readSettlement(asJson(entry));
  const requested = request && { agent: request.agent_id, details: asJson(request.details) };
  const vote = settlement?.votes[index];
  if (!settlement || !vote?.signature) return null;
  const scope = resolveScopes(settlement, requested)[index];
  if (!scope) return null;
  return rebuildStatement(
    settlement,
    { ...vote, signature: vote.signature },
    { scope, request: requested, origin: location.origin },
  );
}

/** A value that was parsed from JSON, as the core reads it. */
function asJson(value: object): JsonObject {
  return value as JsonObject;
}
