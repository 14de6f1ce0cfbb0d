import { getMember } from '../../accounts/members/get';
import { type preloadMember, requireMember } from '../../accounts/members/member';
import type { AuditEntry } from '../../audit/entry';
import { type preloadEntry, requireEntry } from '../../audit/get';
import { proveInclusion } from '../../audit/tree/prove-inclusion';
import type { Id } from '../../lib/typeid';
import { type preloadPermissionWithContents, presentContents } from '../../permissions/contents';
import { requirePermission } from '../../permissions/find-permission';
import { usePage } from '../frame/page-context';
import type { ConsoleContext, PreloadedContext } from '../session/access';

interface VerifyProps {
  entry: AuditEntry;
  /** The entry of the request, whose limits and digests a signed decision may refer to. */
  request: Id<'audit'> | undefined;
}

/**
 * Verifies the entry in the browser, step by step, and says how to do it without trusting the
 * service.
 */
export function Verify({ entry: { id, permission_request_id }, request }: VerifyProps) {
  const { may } = usePage();
  const address = `/console/audit/${id}`;
  return (
    <section
      class="card"
      aria-labelledby="verify-title"
      data-verify={address}
      data-request={request && request !== id ? `/console/audit/${request}` : undefined}
      data-contents={may('permissions:read') ? contentsAddress(permission_request_id) : undefined}
    >
      <h2 id="verify-title">Verify</h2>
      <p class="soft">
        Checks that the entry is in the signed log and unchanged since it was sealed, that the
        signatures of people are valid, and that the page of the request agrees with the log.
      </p>
      <p data-with-script hidden>
        <button type="button">Verify in this browser</button>
      </p>
      <div class="checked" role="status">
        <ol class="steps"></ol>
      </div>
      <details>
        <summary>Verify with the command line</summary>
        <p class="soft">
          The check above uses the script and the keys of this service. To trust neither, save the
          answers of two requests, and check them with keys that you kept yourself:
        </p>
        <section class="scrolls" tabindex={0} aria-label="Commands">
          <pre>{commands(id)}</pre>
        </section>
        <p class="soft">
          An entry can be verified at the latest two minutes after it was written. The guide{' '}
          <a href="/docs/guides/verifying">Verifying the log</a> explains what this proves and what
          it does not.
        </p>
      </details>
    </section>
  );
}

function commands(id: Id<'audit'>): string {
  return [
    `curl -sf $SERVICE/v1/audit/${id} -H "Authorization: Bearer $TOKEN" > entry.json`,
    `curl -sf $SERVICE/v1/audit/${id}/proof -H "Authorization: Bearer $TOKEN" > entry-proof.json`,
    'npm run verify -- entry.json --proof entry-proof.json --key jwks.json --passkeys keys.json',
  ].join('\n');
}

export type EntryContext = PreloadedContext<typeof preloadEntry>;

// What the page's script needs to verify an entry, with the session instead of a token.

const HEADERS = { 'Cache-Control': 'no-store' };

/** Answers as `GET /v1/audit/:id`. */
export async function sendEntry(c: EntryContext): Promise<Response> {
  return c.json(
    requireEntry(c.var.signedIn.context, c.req.param('id') ?? '', c.var.loaded.entry),
    200,
    HEADERS,
  );
}

/** Answers as `GET /v1/audit/:id/proof`. */
export async function sendProof(c: ConsoleContext): Promise<Response> {
  return c.json(
    await proveInclusion(c.var.signedIn.context, c.req.param('id') ?? ''),
    200,
    HEADERS,
  );
}

function contentsAddress(permission: string): string {
  return `/console/permissions/${permission}/contents`;
}

/** Answers with the arguments and the preview of a request, as far as the service has them. */
export async function sendContents(
  c: PreloadedContext<typeof preloadPermissionWithContents>,
): Promise<Response> {
  const { signedIn, loaded } = c.var;
  const row = requirePermission(signedIn.context.principal, loaded.permission?.[0]);
  const { input, preview } = presentContents(row);
  const contents = { ...(row.input !== null && { input }), ...(preview && { preview }) };
  return c.json(contents, 200, HEADERS);
}

/** Answers as `GET /v1/members/:id`, with the passkeys. */
export async function sendMemberJson(c: PreloadedContext<typeof preloadMember>): Promise<Response> {
  const member = requireMember(c.var.loaded.member);
  return c.json(await getMember(c.var.signedIn.context, { member }), 200, HEADERS);
}
