import { createUserToken } from '../../accounts/me/create-token';
import { deleteUserToken } from '../../accounts/me/delete-token';
import { invalidRequest } from '../../errors';
import { SCOPES, type Scope, type UserPrincipal } from '../../http/context';
import { pathId } from '../../http/path-id';
import { requirePerson } from '../../identity/sessions/require-person';
import {
  type CreatedUserToken,
  type UserToken,
  UserTokenCreation,
} from '../../identity/tokens/user-token';
import { DAY, formatTime } from '../../lib/time';
import { type Refusal, readForm, refusalOf, type SentForm, validate } from '../frame/form';
import { sendPage } from '../frame/page';
import { usePage } from '../frame/page-context';
import { LinkButton, Section } from '../parts/blocks';
import { CheckBox, FieldGroup, SelectField, TextField } from '../parts/fields';
import { Action, Form, Submit } from '../parts/form';
import { Badge, Creator, Time, TimeSince, Written } from '../parts/inline';
import { AfterSecret, Secret } from '../parts/secret';
import { SignInAgain } from '../parts/sign-in-again';
import { pluralOf } from '../parts/words';
import { type ConsoleContext, requireScopes } from '../session/access';
import { redirectWithFlash } from '../session/flash';

function LastUse({ token: { last_used_at } }: { token: UserToken }) {
  if (last_used_at === null) return <>never used</>;
  return (
    <>
      used <TimeSince at={last_used_at} />
    </>
  );
}

function Expiry({ token: { expires_at } }: { token: UserToken }) {
  if (expires_at === null) return <>never expires</>;
  return (
    <>
      until <Time at={expires_at} />
    </>
  );
}

/** The user tokens of the member, or of the account for a session of one of its tokens. */
export function Tokens({
  tokens,
  principal,
}: {
  tokens: readonly UserToken[];
  principal: UserPrincipal;
}) {
  const { now } = usePage();
  const isPerson = principal.token === null;
  const mayDelete = isPerson || principal.scopes.includes('account:write');
  return (
    <Section name="tokens" title="User tokens">
      <p class="soft">
        {principal.member &&
          'With a user token, a program calls the API as you and within your role. You can also use it at a terminal.'}
        {!principal.member &&
          'With a token of the account, a program calls the API for the account, not as one of its members.'}
      </p>
      {tokens.length > 0 && (
        <ul class="lines">
          {tokens.map((token) => (
            <li>
              <span>
                <Written text={token.name ?? 'Without a name'} />{' '}
                {token.expires_at !== null && Date.parse(token.expires_at) <= now && (
                  <Badge state="expired" />
                )}
                <small>
                  <code>{token.token_prefix}…</code> {token.scopes.length}{' '}
                  {pluralOf(token.scopes.length, 'scope')}, <LastUse token={token} />,{' '}
                  <Expiry token={token} />
                  {token.member_id === null && [', created by ', <Creator id={token.created_by} />]}
                </small>
              </span>
              {mayDelete && (
                <Action action={`/console/me/tokens/${token.id}/delete`} label="Delete" />
              )}
            </li>
          ))}
        </ul>
      )}
      {isPerson && (
        <p class="actions">
          <LinkButton href="/console/me/tokens/new" label="Make a user token" kind="quiet" />
        </p>
      )}
    </Section>
  );
}

/** Deletes one of the caller's user tokens. */
export async function deleteOwnToken(c: ConsoleContext): Promise<Response> {
  const { principal } = c.var.signedIn.context;
  if (principal.token !== null) requireScopes(principal, 'account:write');
  const id = pathId(c, 'utok', 'user token');
  await deleteUserToken(c.var.signedIn.context, { id });
  return redirectWithFlash(c, '/console/me', 'deleted');
}

/** After how many days a token may expire; empty for never. */
const LIFETIMES: readonly (readonly [days: string, label: string])[] = [
  ['7', 'in 7 days'],
  ['30', 'in 30 days'],
  ['90', 'in 90 days'],
  ['365', 'in a year'],
  ['', 'never'],
];

/**
 * Shows the form that makes a user token. At first it has every scope of the role that only reads.
 */
export async function showNewToken(c: ConsoleContext): Promise<Response> {
  requirePerson(c.var.signedIn.context.principal);
  const scopes = c.var.signedIn.context.principal.scopes.filter(onlyReads);
  return sendNewToken(c, scopes);
}

function onlyReads(scope: Scope): boolean {
  return scope.endsWith(':read');
}

/** Makes a user token and shows it, this once. */
export async function makeToken(c: ConsoleContext): Promise<Response> {
  const { context } = c.var.signedIn;
  requirePerson(c.var.signedIn.context.principal);
  const form = await readForm(c);
  try {
    const input = validate(UserTokenCreation(), readToken(form, context.runtime.now()));
    return sendToken(c, await c.var.once((context) => createUserToken(context, input)));
  } catch (error) {
    return sendNewToken(c, form.list('scopes'), refusalOf(error, form));
  }
}

/**
 * A form without the field `choose` makes a token with all scopes of the role, as the API does
 * without scopes.
 */
function readToken(form: SentForm, now: number) {
  const lifetime = form.text('lifetime');
  if (!LIFETIMES.some(([days]) => days === lifetime)) {
    throw invalidRequest([{ path: 'body.expires_at', message: 'must be one of these' }]);
  }
  return {
    name: form.text('name'),
    ...(form.has('choose') && { scopes: form.list('scopes') }),
    ...(lifetime !== '' && { expires_at: formatTime(now + Number(lifetime) * DAY) }),
  };
}

interface ScopeBoxesProps {
  scopes: readonly Scope[];
  /** The scopes that are checked at first. */
  checked: readonly string[];
}

function ScopeBoxes({ scopes, checked }: ScopeBoxesProps) {
  return (
    <div class="part">
      {scopes.map((scope) => (
        <CheckBox
          label={SCOPE_WORDS[scope]}
          name="scopes"
          value={scope}
          checked={checked.includes(scope)}
        />
      ))}
    </div>
  );
}

/** @param checked the scopes that are checked at first */
function sendNewToken(c: ConsoleContext, checked: readonly string[], refusal?: Refusal): Response {
  const offered = SCOPES.filter((scope) => c.var.signedIn.context.principal.scopes.includes(scope));
  const children = (
    <>
      <SignInAgain page="/console/me/tokens/new" purpose="To make a user token" />
      <Form action="/console/me/tokens" class="card" refusal={refusal} creates>
        <TextField
          label="Name"
          name="name"
          hint="What it is for. You find it by this name later."
          autocomplete="off"
          maxlength={255}
          required
        />
        <input type="hidden" name="choose" value="scopes" />
        <FieldGroup legend="What it may do" path="scopes">
          <div class="scope-choices">
            <ScopeBoxes scopes={offered.filter(onlyReads)} checked={checked} />
            <ScopeBoxes scopes={offered.filter((scope) => !onlyReads(scope))} checked={checked} />
          </div>
          <p class="hint">It can never do more than you.</p>
        </FieldGroup>
        <SelectField
          label="Expires"
          name="lifetime"
          path="expires_at"
          value="90"
          options={LIFETIMES}
        />
        <Submit label="Make a user token" cancel="/console/me" />
      </Form>
    </>
  );
  return sendPage(c, {
    title: 'New user token',
    isNarrow: true,
    status: refusal?.status,
    children,
  });
}

function sendToken(c: ConsoleContext, { token, name, expires_at }: CreatedUserToken): Response {
  const { config } = c.var;
  const children = (
    <>
      <Secret title="The user token" text={token} purpose="Anybody who has it can act as you.">
        <p>
          <Written text={name ?? 'It'} /> {expires_at === null && 'never expires'}
          {expires_at !== null && ['expires ', <Time at={expires_at} />]}. Try it at a terminal:
        </p>
        <pre>{`curl ${config.publicUrl}/v1/me \\\n  -H 'Authorization: Bearer ${token}'`}</pre>
      </Secret>
      <AfterSecret next="/console/me" />
    </>
  );
  return sendPage(c, { title: 'Your new user token', isNarrow: true, children });
}

/** The rights that each scope gives to a token. */
export const SCOPE_WORDS: Record<Scope, string> = {
  'agents:read': 'Read agents',
  'agents:write': 'Register, change and delete agents',
  'permissions:read': 'Read requests',
  'permissions:decide': 'Approve and deny requests',
  'policies:read': 'Read policies',
  'policies:write': 'Change policies',
  'audit:read': 'Read the audit log',
  'audit:export': 'Export the log and order reports',
  'tokens:use': 'Use the tokens of agents',
  'webhooks:read': 'Read webhooks',
  'webhooks:write': 'Change webhooks',
  'account:read': 'Read the account and its members',
  'account:write': 'Change members and user tokens',
  'channels:read': 'Read channels',
  'channels:write': 'Change channels',
  'connections:read': 'Read connections',
  'connections:write': 'Change connections',
};
