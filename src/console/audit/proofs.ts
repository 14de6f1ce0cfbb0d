import { getMember } from '../../accounts/members/get';
import { type memberInPath, requireMember } from '../../accounts/members/member';
import { requireEntry } from '../../audit/get';
import { proveInclusion } from '../../audit/tree/prove-inclusion';
import type { ConsoleContext } from '../session/access';
import type { EntryContext } from './entry';

// What the page's script needs to verify an entry, with the session instead of a token.

const HEADERS = { 'Cache-Control': 'no-store' };

/** Answers as `GET /v1/audit/:id`. */
export async function sendEntry(c: EntryContext): Promise<Response> {
  return c.json(requireEntry(c.var.signedIn.context, c.var.loaded.entry), 200, HEADERS);
}

/** Answers as `GET /v1/audit/:id/proof`. */
export async function sendProof(c: ConsoleContext): Promise<Response> {
  return c.json(await proveInclusion(c.var.signedIn.context, c.req.param('id') ?? ''), 200, HEADERS);
}

/** Answers as `GET /v1/members/:id`, with the passkeys. */
export async function sendMember(c: ConsoleContext<Awaited<ReturnType<typeof memberInPath>>>): Promise<Response> {
  const member = requireMember(c.var.loaded.member);
  return c.json(await getMember(c.var.signedIn.context, { member }), 200, HEADERS);
}
