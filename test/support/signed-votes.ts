import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import canonicalize from 'canonicalize';
import { type Entry, makeEntry } from './sealed-log.ts';

/**
 * This file signs votes literally by the contract and by WebAuthn, and shares no code with the
 * verifier.
 */

export const SERVICE = 'https://countersign.test';

// biome-ignore lint/suspicious/noExplicitAny: tests reach into entries and break them
type Any = any;

export type Algorithm = 'ES256' | 'EdDSA' | 'RS256';

/** How a signature differs from what it should be. */
export interface Tampering {
  origin?: string;
  rpId?: string;
  flags?: number;
  clientData?: Record<string, unknown>;
  key?: Passkey;
}

/** A passkey with a key of any algorithm that the service offers. */
export class Passkey {
  readonly id = randomBytes(16).toString('base64url');
  /** COSE_Key in base64url. */
  readonly publicKey: string;
  private readonly privateKey: KeyObject;
  private readonly algorithm: Algorithm;
  private counter = 0;

  constructor(algorithm: Algorithm) {
    const { privateKey, publicKey } = makeKeys(algorithm);
    this.algorithm = algorithm;
    this.privateKey = privateKey;
    this.publicKey = coseKey(
      publicKey.export({ format: 'jwk' }) as Record<string, string>,
    ).toString('base64url');
  }

  /** As `GET /v1/members/:id` shows it. */
  pin(times: { added_at?: string; removed_at?: string | null } = {}) {
    const life = { added_at: '2026-01-01T00:00:00.000Z', removed_at: null };
    return { id: this.id, name: 'Laptop', public_key: this.publicKey, ...life, ...times };
  }

  /** Signs a statement: the `signature` of a vote. */
  sign(statement: Any, tampering: Tampering = {}) {
    const { response } = this.get(
      { challenge: sha256(canonicalize(statement) as string).toString('base64url') },
      tampering,
    );
    return {
      credential_id: this.id,
      signed_at: statement.signed_at,
      authenticator_data: response.authenticatorData,
      client_data_json: response.clientDataJSON,
      signature: response.signature,
    };
  }

  /** Answers `navigator.credentials.create`, without attestation. */
  create({ challenge }: Any, { origin = SERVICE }: Tampering = {}) {
    const client = Buffer.from(
      JSON.stringify({ type: 'webauthn.create', challenge, origin, crossOrigin: false }),
    );
    const id = Buffer.from(this.id, 'base64url');
    const credential = [
      Buffer.alloc(16),
      Buffer.of(0, id.length),
      id,
      Buffer.from(this.publicKey, 'base64url'),
    ];
    const data = Buffer.concat([
      sha256(new URL(origin).hostname),
      Buffer.of(0x45, 0, 0, 0, 0),
      ...credential,
    ]);
    // {"fmt": "none", "attStmt": {}, "authData": bytes}
    const start = hex('a363666d74646e6f6e656761747453746d74a0686175746844617461');
    const attestation = Buffer.concat([start, bytes(data.toString('base64url'))]);
    return this.answer({
      clientDataJSON: client.toString('base64url'),
      attestationObject: attestation.toString('base64url'),
    });
  }

  /** Answers `navigator.credentials.get`. */
  get(
    { challenge }: Any,
    { origin = SERVICE, rpId, flags = 0x05, clientData, key = this }: Tampering = {},
  ) {
    const client = Buffer.from(
      JSON.stringify({
        type: 'webauthn.get',
        challenge,
        origin,
        crossOrigin: false,
        ...clientData,
      }),
    );
    this.counter += 1;
    const data = Buffer.concat([
      sha256(rpId ?? new URL(origin).hostname),
      Buffer.of(flags, 0, 0, 0, this.counter),
    ]);
    return this.answer({
      authenticatorData: data.toString('base64url'),
      clientDataJSON: client.toString('base64url'),
      signature: key.signBytes(Buffer.concat([data, sha256(client)])).toString('base64url'),
    });
  }

  private answer<R>(response: R) {
    return {
      id: this.id,
      rawId: this.id,
      type: 'public-key',
      response,
      clientExtensionResults: {},
    };
  }

  private signBytes(bytes: Buffer): Buffer {
    return sign(this.algorithm === 'EdDSA' ? null : 'sha256', bytes, this.privateKey);
  }
}

function makeKeys(algorithm: Algorithm) {
  if (algorithm === 'ES256') return generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return algorithm === 'EdDSA'
    ? generateKeyPairSync('ed25519')
    : generateKeyPairSync('rsa', { modulusLength: 2_048 });
}

/**
 * Encodes a key as COSE_Key (RFC 9052 section 7) in CBOR. Negative labels -1 to -3 are the bytes
 * 0x20 to 0x22.
 */
function coseKey({ kty, x = '', y = '', n = '', e = '' }: Record<string, string>): Buffer {
  if (kty === 'EC')
    return Buffer.concat([hex('a5010203262001'), hex('21'), bytes(x), hex('22'), bytes(y)]);
  if (kty === 'OKP') return Buffer.concat([hex('a4010103272006'), hex('21'), bytes(x)]);
  return Buffer.concat([hex('a401030339010020'), bytes(n), hex('21'), bytes(e)]);
}

const hex = (text: string) => Buffer.from(text, 'hex');

/** A CBOR byte string. */
function bytes(base64url: string): Buffer {
  const value = Buffer.from(base64url, 'base64url');
  const { length } = value;
  const head =
    length < 24
      ? [0x40 | length]
      : length < 256
        ? [0x58, length]
        : [0x59, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), value]);
}

function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest();
}

export interface Voter {
  id: string;
  passkey: Passkey;
}

/** A vote to be cast; without a scope it has the one before. */
export interface Ballot {
  voter: Voter;
  decision?: 'approve' | 'deny';
  scope?: object;
  limits?: { token_ttl: number; max_uses: number };
  /** The series that it gives. */
  series?: object;
  reason?: string | null;
  signed?: boolean;
  tampering?: Tampering;
}

/** What is asked for. */
export const REQUESTED = {
  action: 'email.send',
  resource: 'mailbox:support',
  scope: { folders: ['inbox', 'sent'], amount: 9.5, größer: true },
  input_digest: `sha-256:${sha256('input').toString('base64url')}`,
  preview_digest: `sha-256:${sha256('preview').toString('base64url')}`,
};

/**
 * The entries of a request and its end: the first has the given sequence, and the second follows
 * it.
 */
export function makeReview(
  sequence: number,
  ballots: Ballot[],
  ending: 'settled' | 'withdrawn' = 'settled',
): Entry[] {
  const place = makeEntry(sequence);
  const subject = { agent_id: place.agent_id, permission_request_id: place.permission_request_id };
  const { action, resource, scope, ...digests } = REQUESTED;
  const base = {
    action,
    resource,
    scope,
    decided_by: null,
    decision_reason: null,
    policy_id: null,
  };
  const request = { ...place, event_type: 'request', details: { ...base, ...digests } };
  const end = { ...makeEntry(sequence + 1), ...subject };
  const time = (seconds: number) =>
    new Date(Date.parse(place.created_at) + seconds * 1_000).toISOString();
  let proposal: object = scope;
  let last: object = scope;
  const votes = ballots.map(
    ({ voter, decision = 'approve', signed = true, tampering, ...ballot }, at) => {
      const { limits = { token_ttl: 900, max_uses: 3 }, reason = null, series } = ballot;
      const voted = decision === 'deny' ? scope : (ballot.scope ?? proposal);
      const differs = JSON.stringify(voted) !== JSON.stringify(last);
      last = voted;
      if (decision === 'approve') proposal = voted;
      const statement = {
        type: 'countersign/decision/v1',
        origin: tampering?.origin ?? SERVICE,
        account_id: place.user_id,
        member_id: voter.id,
        permission_id: place.permission_request_id,
        agent_id: place.agent_id,
        decision,
        action,
        resource,
        scope: voted,
        ...limits,
        ...(series && { series }),
        ...digests,
        reason,
        signed_at: time(at),
      };
      return {
        by: voter.id,
        decision,
        ...limits,
        ...(series && { series }),
        reason,
        via: 'console',
        signed,
        at: time(at + 1),
        ...(differs && { scope: voted }),
        ...(signed && { signature: voter.passkey.sign(statement, tampering) }),
      };
    },
  );
  const deciding = votes.at(-1);
  const review = { votes, review_policy_id: 'policy_01m7x1kd4rfd295j3kx3gjdnpe' };
  const details =
    ending === 'withdrawn'
      ? { ...base, expired: 'withdrawn', ...review }
      : {
          ...{ ...base, scope: last, ...digests, ...review },
          decided_by: deciding?.by ?? null,
          decided_via: 'console',
          decision_reason: deciding?.reason ?? null,
          ...(deciding?.series && { granted_series: deciding.series }),
          ...(deciding?.decision === 'approve' && {
            token_id: place.permission_request_id.replace('perm', 'token'),
          }),
        };
  const event_type = ending === 'withdrawn' ? 'expire' : (deciding?.decision ?? '');
  return [request, { ...end, event_type, details }] as Any;
}

/**
 * The entry of an approval by the series that a review gave.
 * @param review the entries of {@link makeReview}
 * @param details what differs from the first permission's details
 */
export function makeSeriesApproval(
  sequence: number,
  [, given]: Entry[],
  { given_by, ...details }: { given_by: string[]; [name: string]: unknown },
): Entry {
  const { agent_id, permission_request_id: permission_id, details: first } = given as Any;
  const { action, resource, scope } = first;
  return {
    ...makeEntry(sequence),
    agent_id,
    event_type: 'approve',
    details: {
      action,
      resource,
      scope,
      decided_by: permission_id,
      decided_via: 'series',
      decision_reason: null,
      policy_id: null,
      series: { permission_id, given_by },
      ...details,
    },
  } as Any;
}
