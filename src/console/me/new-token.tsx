import { createUserToken } from '../../accounts/tokens/create';
import { type CreatedUserToken, UserTokenCreation } from '../../accounts/tokens/user-token';
import { invalidRequest } from '../../errors';
import { SCOPES, type Scope } from '../../http/context';
import { DAY, formatTime } from '../../lib/time';
import { type Refusal, readForm, refusalOf, type Form as SentForm, validate } from '../frame/form';
import { sendPage } from '../frame/page';
import { CheckBox, Form, SelectField, TextField } from '../parts/form';
import { Written } from '../parts/text';
import { Time } from '../parts/time';
import { ToCopy } from '../parts/to-copy';
import { type ConsoleContext, requirePerson } from '../session/access';
import { SCOPE_WORDS } from './scope-words';

/** After how many days a token may expire; empty for never. */
const LIFETIMES: readonly (readonly [days: string, label: string])[] = [
  ['7', 'in 7 days'],
  ['30', 'in 30 days'],
  ['90', 'in 90 days'],
  ['365', 'in a year'],
  ['', 'never'],
];

/** Shows the form that makes a user token. At first it has every scope of the role that only reads. */
export async function showNewToken(c: ConsoleContext): Promise<Response> {
  requirePerson(c.var.signedIn);
  const scopes = c.var.signedIn.context.principal.scopes.filter(onlyReads);
  return sendNewToken(c, { name: '', scopes, lifetime: '90' });
}

function onlyReads(scope: Scope): boolean {
  return scope.endsWith(':read');
}

/** Makes a user token and shows it, this once. */
export async function makeToken(c: ConsoleContext): Promise<Response> {
  const { context } = c.var.signedIn;
  requirePerson(c.var.signedIn);
  const form = await readForm(c);
  try {
    const input = validate(UserTokenCreation(), readToken(form, context.runtime.now()));
    return sendToken(c, await c.var.once((context) => createUserToken(context, input)));
  } catch (error) {
    const typed = { name: form.text('name'), scopes: form.list('scopes'), lifetime: form.text('lifetime') };
    return sendNewToken(c, typed, refusalOf(error));
  }
}

/** A form without the field `choose` makes a token with all scopes of the role, as the API does without scopes. */
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

interface TypedToken {
  name: string;
  scopes: readonly string[];
  lifetime: string;
}

function sendNewToken(c: ConsoleContext, { name, scopes, lifetime }: TypedToken, refusal?: Refusal): Response {
  const fault = refusal?.faults.get('scopes');
  const offered = SCOPES.filter((scope) => c.var.signedIn.context.principal.scopes.includes(scope));
  const children = (
    <Form action="/console/me/tokens" class="card" refusal={refusal} creates>
      <TextField
        label="Name"
        name="name"
        value={name}
        hint="What it is for. You find it by this name later."
        autocomplete="off"
        maxlength={255}
        refusal={refusal}
        required
      />
      <input type="hidden" name="choose" value="scopes" />
      <fieldset aria-describedby={fault && 'scopes-fault'}>
        <legend>What it may do</legend>
        <div class="scope-choices">
          {[true, false].map((isReading) => (
            <div class="part">
              {offered
                .filter((scope) => onlyReads(scope) === isReading)
                .map((scope) => (
                  <CheckBox label={SCOPE_WORDS[scope]} name="scopes" value={scope} checked={scopes.includes(scope)} />
                ))}
            </div>
          ))}
        </div>
        <p class="hint">It can never do more than you.</p>
        {fault && (
          <p class="fault" id="scopes-fault">
            {fault}
          </p>
        )}
      </fieldset>
      <SelectField
        label="Expires"
        name="lifetime"
        path="expires_at"
        value={lifetime}
        options={LIFETIMES}
        refusal={refusal}
      />
      <div class="actions">
        <button type="submit">Make a user token</button>
        <a class="button quiet" href="/console/me">
          Cancel
        </a>
      </div>
    </Form>
  );
  return sendPage(c, { title: 'New user token', isNarrow: true, children }, refusal?.status);
}

function sendToken(c: ConsoleContext, { token, name, expires_at }: CreatedUserToken): Response {
  const { config } = c.var;
  const children = (
    <>
      <p>
        This is <Written text={name ?? 'the token'} />. Copy it now: it is shown only this once. Anybody who has it can
        act as you.
      </p>
      <ToCopy id="secret" text={token} label="The user token" />
      <p>
        {expires_at === null ? (
          'It never expires.'
        ) : (
          <>
            It expires <Time at={expires_at} />.
          </>
        )}{' '}
        Try it at a terminal:
      </p>
      <pre>{`curl ${config.publicUrl}/v1/me \\\n  -H 'Authorization: Bearer ${token}'`}</pre>
      <p class="actions">
        <a class="button quiet" href="/console/me">
          Back to my sign-in
        </a>
      </p>
    </>
  );
  return sendPage(c, { title: 'Your new user token', isNarrow: true, children });
}
