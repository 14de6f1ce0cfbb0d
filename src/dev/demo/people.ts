import { join } from 'node:path';
import type { Countersign } from '../../client/countersign.ts';
import { connect } from '../api.ts';
import { ROOT, readJsonFile, writeJsonFile } from '../project.ts';
import { createPasskey, type DemoPasskey } from './passkey.ts';

/** In the folder of the local databases, so that the credentials are deleted together with them. */
const FILE = join(ROOT, '.wrangler/state/demo-people.json');

const NAMES = ['Ada Lovelace', 'Grace Hopper'];

/** A member of the demo account who approves. */
export interface Person {
  id: string;
  name: string;
  passkey: DemoPasskey;
  /** A client with a user token of the member. */
  api: Countersign;
}

type StoredPerson = Omit<Person, 'api'> & { token: string };

/**
 * Returns the approvers of the demo account. The first time they are invited, and join with a
 * passkey each.
 */
export async function findPeople(origin: string, user: Countersign): Promise<Person[]> {
  const kept = (readJsonFile<StoredPerson[]>(FILE) ?? []).map(({ token, ...person }) => ({
    ...person,
    api: connect(origin, token),
  }));
  const accounts = await Promise.all(kept.map(({ api }) => api.getOwnAccount().catch(() => null)));
  if (kept.length > 0 && accounts.every((account) => account?.member?.role === 'approver'))
    return kept;
  const people: StoredPerson[] = [];
  for (const name of NAMES) people.push(await invite(origin, user, name));
  writeJsonFile(FILE, people);
  return people.map(({ token, ...person }) => ({ ...person, api: connect(origin, token) }));
}

/** Invites a person, who joins in the console as a browser does, and makes a user token there. */
async function invite(origin: string, user: Countersign, name: string): Promise<StoredPerson> {
  const email = `${name.split(' ')[0]?.toLowerCase()}+${Date.now()}@example.com`;
  const member = await user.inviteMember({ email, name, role: 'approver' });
  const { pathname } = new URL(member.invitation.url);
  const send = async (path: string, init: RequestInit) => {
    const response = await fetch(origin + path, {
      ...init,
      headers: { Origin: origin, ...init.headers },
    });
    if (!response.ok)
      throw new Error(`${path} was answered ${response.status}: ${await response.text()}`);
    return response;
  };
  const json = { 'Content-Type': 'application/json' };
  const options = (await (
    await send(`${pathname}/options`, { method: 'POST' })
  ).json()) as Parameters<typeof createPasskey>[1];
  const { passkey, response } = createPasskey(origin, options);
  const body = JSON.stringify({ name: 'Demo', response });
  const joined = await send(pathname, { method: 'POST', headers: json, body });
  const cookie = joined.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const page = await (await send('/console/me', { headers: { Cookie: cookie } })).text();
  const csrf = /name="csrf-token" content="([^"]+)"/.exec(page)?.[1] ?? '';
  const form = new URLSearchParams({ csrf, name: 'Demo' });
  const made = await (
    await send('/console/me/tokens', { method: 'POST', headers: { Cookie: cookie }, body: form })
  ).text();
  const token = /csu_[0-9A-Za-z]{40}/.exec(made)?.[0];
  if (!token) throw new Error('the console shows no user token');
  return { id: member.id, name, passkey, token };
}
