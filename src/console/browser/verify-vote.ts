import { fromBase64Url, isEqual, joinBytes, sha256, toBase64Url, utf8 } from './verify-bytes';
import type { Finding } from './verify-finding';
import { canonicalJson, differences, type Json, type JsonObject } from './verify-json';
import { hasSigned } from './verify-passkey';

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
  passkeys?: { id: string; public_key: string; added_at: string; removed_at: string | null }[];
}

interface Decided {
  /** The entry that ended the request. */
  entry: VoteEntry;
  /** The entry of the request; null if it is the same, or gone. */
  request: VoteEntry | null;
  /** The member who voted. */
  member: Member | undefined;
}

const USER_PRESENT_AND_VERIFIED = 0x05;
const RP_ID_HASH_LENGTH = 32;

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
  const { added_at, removed_at } = passkey;
  if (signature.signed_at < added_at || (removed_at !== null && signature.signed_at > removed_at)) {
    return failed(
      'The member did not have the passkey when it signed.',
      ['Added', added_at],
      ['Removed', removed_at ?? 'no'],
    );
  }

  const clientData = fromBase64Url(signature.client_data_json);
  const client = JSON.parse(
    new TextDecoder('utf-8', { fatal: true }).decode(clientData),
  ) as JsonObject;
  if (client.origin !== location.origin) {
    return {
      state: 'open',
      text: 'It was signed at another address of the service. Use the command line, with the addresses that you trust.',
      evidence: [['Signed at', String(client.origin)], ...evidence],
    };
  }
  const statement = statementOf(decided, index);
  if (!statement) {
    const text = 'The statement cannot be made without the entry of the request, which is gone.';
    return { state: 'open', text, evidence };
  }
  const [contradiction] = contradictions(entry, index, statement);
  if (contradiction) {
    return failed(`The ${contradiction.path} of the entry is not that of the vote which decided.`, [
      contradiction.path,
      `${contradiction.one}; the vote has ${contradiction.other}`,
    ]);
  }
  const challenge = toBase64Url(await sha256(utf8(canonicalJson(statement))));
  evidence.push(['Statement', canonicalJson(statement)]);
  if (client.challenge !== challenge) {
    return failed(
      'The passkey signed another decision than the one that the entry states.',
      ['Hash of the stated decision', challenge],
      ['Hash that was signed', String(client.challenge)],
    );
  }
  const authenticatorData = fromBase64Url(signature.authenticator_data);
  const fault = await findFault(client, authenticatorData);
  if (fault) return failed(fault);
  const signed = joinBytes(authenticatorData, await sha256(clientData));
  if (
    !(await hasSigned(
      fromBase64Url(passkey.public_key),
      signed,
      fromBase64Url(signature.signature),
    ))
  ) {
    return failed('The signature is not that of the member’s passkey.', [
      'Public key',
      passkey.public_key,
    ]);
  }
  return {
    state: 'passed',
    text: 'A passkey of this member signed exactly what the entry states.',
    evidence,
  };
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
  const { scope, decided_by, decision_reason } = details;
  const { decision, scope: voted = null, member_id = null, reason = null } = statement;
  return differences(
    { event_type, scope, decided_by, decision_reason },
    { event_type: decision ?? null, scope: voted, decided_by: member_id, decision_reason: reason },
  );
}

async function findFault(
  client: JsonObject,
  authenticatorData: Uint8Array,
): Promise<string | null> {
  if (client.type !== 'webauthn.get')
    return 'It is not a signature of a passkey that was used to sign.';
  if (client.crossOrigin === true || client.topOrigin !== undefined)
    return 'It was signed in a frame of another site.';
  const rpId = await sha256(utf8(location.hostname));
  if (!isEqual(authenticatorData.subarray(0, RP_ID_HASH_LENGTH), rpId))
    return 'It was signed for another host.';
  const flags = authenticatorData[RP_ID_HASH_LENGTH] ?? 0;
  const isVerified = (flags & USER_PRESENT_AND_VERIFIED) === USER_PRESENT_AND_VERIFIED;
  return isVerified ? null : 'The passkey did not verify the person.';
}

/** The statement that the member signed; null if the entries do not have all of it. */
function statementOf({ entry, request }: Decided, index: number): JsonObject | null {
  const { details } = entry;
  const vote = voteAt(entry, index);
  const scope = scopeOf(entry, request, index);
  // An expiry repeats no digests.
  const digests = details.input_digest === undefined ? request?.details : details;
  if (!scope || !digests || !vote.signature) return null;
  return {
    type: 'countersign/decision/v1',
    origin: location.origin,
    account_id: entry.user_id,
    member_id: vote.by,
    permission_id: entry.permission_request_id,
    agent_id: entry.agent_id,
    decision: vote.decision,
    action: details.action,
    resource: details.resource,
    scope,
    token_ttl: vote.token_ttl,
    max_uses: vote.max_uses,
    input_digest: digests.input_digest ?? null,
    preview_digest: digests.preview_digest ?? null,
    reason: vote.reason,
    signed_at: vote.signature.signed_at,
  };
}

/**
 * The scope of a vote: its own, else that of the last vote before which has one, else that of the
 * request.
 */
function scopeOf(
  { event_type, details }: VoteEntry,
  request: VoteEntry | null,
  index: number,
): Json {
  const votes = details.votes ?? [];
  const own = votes.slice(0, index + 1).findLast(({ scope }) => scope !== undefined)?.scope;
  if (own) return own;
  if (request) return request.details.scope;
  // Without narrower votes an approval grants what was requested; the other entries repeat what was
  // requested.
  const repeatsRequest =
    event_type !== 'approve' || votes.every(({ scope }) => scope === undefined);
  return repeatsRequest ? details.scope : null;
}
