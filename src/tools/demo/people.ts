import { join } from 'node:path';
import type { Countersign } from '../../packages/client/countersign.ts';
import { connect } from '../api.ts';
import { ROOT, readJsonFile, writeJsonFile } from '../project.ts';
import { type CreationOptions, createPasskey, type DemoPasskey } from './passkey.ts';

/** In the folder of the local databases, so that the credentials are deleted together with them. */
const FILE = join(ROOT, '.wrangler/state/demo-people.json');

const NAMES = ['Ada Lovelace', 'Grace Hopper'];

interface StoredPerson {
  id: string;
  name: string;
  passkey: DemoPasskey;
  token: string;
}

/** A member of the demo account who approves, with a client that has a user token of theirs. */
export type Person = StoredPerson & { api: Countersign };

/**
 * Returns the approvers of the demo account. The first time they are invited, and join with a
 * passkey each.
 */
export async function findPeople(origin: string, user: Countersign): Promise<Person[]> {
  const withClient = (person: StoredPerson) => ({ ...person, api: connect(origin, person.token) });
  const kept = (readJsonFile<StoredPerson[]>(FILE) ?? []).map(withClient);
  const accounts = await Promise.all(kept.map(({ api }) => api.getOwnAccount().catch(() => null)));
  if (kept.length > 0 && accounts.every((account) => account?.member?.role === 'approver')) {
    return kept;
  }
  const people: StoredPerson[] = [];
  for (const name of NAMES) people.push(await invite(origin, user, name));
  writeJsonFile(FILE, people);
  return people.map(withClient);
}

/** Invites a person, who joins in the console as a browser does, and makes a user token there. */
async function invite(origin: string, user: Countersign, name: string): Promise<StoredPerson> {
  const email = `${name.split(' ')[0]?.toLowerCase()}+${Date.now()}@example.com`;
  const { id, invitation } = await user.inviteMember({ email, name, role: 'approver' });
  const { pathname } = new URL(invitation.url);
  const headers = new Headers({ Origin: origin });
  const send = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(origin + path, { ...init, headers });
    if (response.ok) return response;
    throw new Error(`${path} was answered ${response.status}: ${await response.text()}`);
  };

  const offered = await send(`${pathname}/options`, { method: 'POST' });
  const options = (await offered.json()) as CreationOptions;
  const { passkey, response } = createPasskey(origin, options);
  const body = JSON.stringify({ name: 'Demo', response });
  headers.set('Content-Type', 'application/json');
  const joined = await send(pathname, { method: 'POST', body });
  headers.delete('Content-Type');
  headers.set('Cookie', joined.headers.getSetCookie()[0]?.split(';')[0] ?? '');

  const page = await (await send('/console/me')).text();
  const csrf = /name="csrf-token" content="([^"]+)"/.exec(page)?.[1] ?? '';
  const form = new URLSearchParams({ csrf, name: 'Demo' });
  const made = await send('/console/me/tokens', { method: 'POST', body: form });
  const token = /csu_[0-9A-Za-z]{40}/.exec(await made.text())?.[0];
  if (!token) throw new Error('the console shows no user token');
  return { id, name, passkey, token };
}
