import { env } from 'cloudflare:test';
import canonicalize from 'canonicalize';
import { expect } from 'vitest';
import { type Id, idBytes } from '../../src/lib/typeid';
import { hashLeaf, isConsistent, rootOf, rootOfInclusion } from './merkle';
import type { Json, TestAccount, World } from './world';

const SIGNATURE_LENGTH = 64;

/** Parses a checkpoint note (C2SP signed-note and tlog-checkpoint). */
export function parseNote(note: string) {
  const [text, signatures] = note.split('\n\n') as [string, string];
  const [origin, size, root, ...extensions] = text.split('\n');
  const [, name, signed] = /^— (\S+) (\S+)\n$/.exec(signatures) as unknown as [
    string,
    string,
    string,
  ];
  return {
    text: `${text}\n`,
    origin,
    size: Number(size),
    root,
    extensions,
    name,
    signed: Uint8Array.fromBase64(signed),
  };
}

/** Verifies a checkpoint with only the published keys. */
export async function expectSigned(world: World, checkpoint: Json): Promise<void> {
  const { text, origin, size, root, extensions, name, signed } = parseNote(checkpoint.note);
  expect([origin, size, name]).toEqual([
    checkpoint.origin,
    checkpoint.tree_size,
    checkpoint.origin,
  ]);
  expect(Uint8Array.fromBase64(root ?? '').toHex()).toBe(checkpoint.root_hash);
  expect(extensions).toEqual([`time ${checkpoint.timestamp}`]);
  expect(signed).toHaveLength(4 + SIGNATURE_LENGTH);
  expect(await isSigned(world, text, name, checkpoint.note)).toBe(true);
}

/**
 * Whether a note has this text and is signed under this name with a published log key of the
 * service.
 */
export async function isSigned(
  world: World,
  text: string,
  name: string,
  note: string,
): Promise<boolean> {
  const [, encoded = ''] = note.slice(text.length).split(`\n— ${name} `);
  const signed = Uint8Array.fromBase64(encoded.trimEnd());
  const { body } = await world.must(200, 'GET', '/.well-known/jwks.json');
  const verdicts = body.keys
    .filter(({ kid }: Json) => kid.startsWith('log-'))
    .map(async (jwk: Json) => {
      const raw = Uint8Array.fromBase64(jwk.x, { alphabet: 'base64url' });
      const id = await crypto.subtle.digest(
        'SHA-256',
        Uint8Array.of(...new TextEncoder().encode(`${name}\n`), 1, ...raw),
      );
      if (signed.slice(0, 4).toHex() !== new Uint8Array(id).slice(0, 4).toHex()) return false;
      const key = await crypto.subtle.importKey('jwk', jwk, 'Ed25519', false, ['verify']);
      return crypto.subtle.verify('Ed25519', key, signed.slice(4), new TextEncoder().encode(text));
    });
  return (await Promise.all(verdicts)).includes(true);
}

/** The leaf hash of an entry as the API shows it. */
export function leafOf(entry: Json, salt: string): Uint8Array {
  return hashLeaf(new TextEncoder().encode(canonicalize({ ...entry, salt })));
}

/** The leaf hashes of an account's whole log, computed from the API's answers and the salts. */
export async function leavesOf(account: TestAccount): Promise<Uint8Array[]> {
  const { results } = await env.DB.prepare(
    `select hex(substr(random, 1, 16)) as salt from audit_entries
     where pos / 4294967296 = (select number from accounts where id = ?) order by pos`,
  )
    .bind(idBytes(account.id as Id<'user'>))
    .all<{ salt: string }>();
  return (await account.log()).map((entry, i) =>
    leafOf(entry, (results[i]?.salt ?? '').toLowerCase()),
  );
}

/** Appends `count` entries of a new agent to the log, as the ledger would. */
export async function addEntries(account: TestAccount, count: number): Promise<void> {
  await (await account.agent()).request({ expires_in: 604_800 });
  await env.DB.prepare(
    `insert into audit_entries select pos + n.value, agent, permission, null, event, action, created_at,
       ip_address, user_agent, '{"resource":"mailbox:' || n.value || '"' || substr(details, instr(details, ',"scope"')), randomblob(22)
     from (select * from audit_entries where pos / 4294967296 = (select number from accounts where id = ?) order by pos desc limit 1),
       (with recursive n(value) as (select 1 union all select value + 1 from n where value < ?) select value from n) as n
     where n.value < ?`,
  )
    .bind(idBytes(account.id as Id<'user'>), count, count)
    .run();
}

export async function checkpointOf(account: TestAccount): Promise<Json> {
  return (await account.must(200, 'GET', '/v1/audit/checkpoint')).body;
}

/**
 * Checks the newest head, some inclusion proofs and some consistency proofs against the log that
 * the API shows.
 */
export async function expectTree(account: TestAccount): Promise<Json> {
  const leaves = await leavesOf(account);
  const { verifier_key: _, ...checkpoint } = await checkpointOf(account);
  await expectSigned(account.world, checkpoint);
  const root = rootOf(leaves.slice(0, checkpoint.tree_size));
  expect(checkpoint.root_hash).toBe(root.toHex());
  const log = await account.log();
  const size = checkpoint.tree_size;
  for (const index of new Set(
    [0, 1, 255, 256, size >> 1, size - 1].filter((index) => index >= 0 && index < size),
  )) {
    const { body: proof } = await account.must(200, 'GET', `/v1/audit/${log[index].id}/proof`);
    const path = proof.inclusion_path.map((hash: string) => Uint8Array.fromHex(hash));
    const leaf = leaves[index] as Uint8Array;
    expect(proof).toMatchObject({
      sequence: index + 1,
      leaf_hash: leaf.toHex(),
      tree_size: size,
      checkpoint,
    });
    const digest = await crypto.subtle.digest('SHA-256', Uint8Array.fromBase64(proof.leaf_input));
    expect(new Uint8Array(digest)).toEqual(leaf);
    expect(rootOfInclusion(leaf, index, size, path)).toEqual(root);
    const from = index + 1;
    const { body: consistency } = await account.must(
      200,
      'GET',
      `/v1/audit/consistency?from=${from}&to=${size}`,
    );
    const older = rootOf(leaves.slice(0, from));
    expect(consistency).toMatchObject({
      from,
      to: size,
      from_root_hash: older.toHex(),
      to_root_hash: root.toHex(),
    });
    const nodes = consistency.consistency_path.map((hash: string) => Uint8Array.fromHex(hash));
    expect(isConsistent([from, older], [size, root], nodes)).toBe(true);
  }
  return checkpoint;
}
