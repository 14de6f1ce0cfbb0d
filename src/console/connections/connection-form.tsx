import {
  type preloadConnection,
  presentConnection,
  requireConnection,
} from '../../connections/connection';
import { ConnectionCreation, createConnection } from '../../connections/create';
import { ConnectionUpdate, updateConnection } from '../../connections/update';
import {
  changedFields,
  type Refusal,
  readForm,
  refusalOf,
  requireUnchanged,
  ShownState,
  validate,
} from '../frame/form';
import { loadNames } from '../frame/names';
import { sendPage } from '../frame/page';
import { LinkButton } from '../parts/blocks';
import { durationText } from '../parts/duration-field';
import { TextField } from '../parts/fields';
import { Form, Submit } from '../parts/form';
import { SignInAgain } from '../parts/sign-in-again';
import { AgentChoices } from '../receivers/fields';
import type { ConsoleContext, PreloadedContext, SignedInRequest } from '../session/access';
import { redirectWithFlash } from '../session/flash';
import { AdvancedFields, CredentialFields, isAdvancedRefused } from './connection-fields';
import { PRESETS, valuesOfPreset } from './presets';
import { RuleFields } from './rule-fields';
import { type ConnectionValues, EMPTY_RULE, inputOf, readValues, valuesOf } from './values';

const LIST = '/console/connections';
const NEW = `${LIST}/new`;

type ConnectionContext = PreloadedContext<typeof preloadConnection>;

/** Shows the services to choose from or, once one is chosen, the form that creates a connection. */
export function showNewConnection(c: ConsoleContext): Promise<Response> | Response {
  const service = c.req.query('service');
  if (service === undefined) return sendServices(c);
  return sendFormPage(c, { values: valuesOfPreset(service) });
}

/**
 * Creates a connection. If that is refused, or a button changes the rules, shows the form again.
 */
export async function addConnection(c: ConsoleContext): Promise<Response> {
  const form = await readForm(c);
  const values = readValues(form);
  const rules = changedRules(values.rules, form.text('do'));
  if (rules) return sendFormPage(c, { values: { ...values, rules } });
  try {
    const { input, faults } = inputOf(values);
    const slug = values.slug === '' ? {} : { slug: values.slug };
    const valid = validate(ConnectionCreation(), { ...input, ...slug }, faults);
    const { id } = await c.var.once((context) => createConnection(context, valid));
    return redirectWithFlash(c, `${LIST}/${id}`, 'created');
  } catch (error) {
    return sendFormPage(c, { values, refusal: refusalOf(error) });
  }
}

/** Shows the form that changes the connection in the path. */
export function showConnectionForm(c: ConnectionContext): Promise<Response> {
  const connection = presentConnection(requireConnection(c.var.loaded.connection));
  return sendFormPage(c, { values: valuesOf(connection), connection });
}

/**
 * Changes the fields that differ from the connection as it is. If that is refused, or a button
 * changes the rules, shows the form again.
 */
export async function editConnection(c: ConnectionContext): Promise<Response> {
  const row = requireConnection(c.var.loaded.connection);
  const connection = presentConnection(row);
  const form = await readForm(c);
  const values = readValues(form);
  const shown = { ...connection, updated_at: form.text('updated_at') };
  const rules = changedRules(values.rules, form.text('do'));
  if (rules) return sendFormPage(c, { values: { ...values, rules }, connection: shown });
  try {
    const { input, faults } = inputOf(values);
    const before = inputOf(valuesOf(connection)).input;
    const changed = changedFields(before, input);
    requireUnchanged('connection', form, connection.updated_at, inWords(connection), changed);
    if (Object.keys(changed).length > 0) {
      const valid = validate(ConnectionUpdate(), changed, faults);
      await updateConnection(c.var.signedIn.context, { connection: row, ...valid });
    }
  } catch (error) {
    return sendFormPage(c, { values, connection, refusal: refusalOf(error) });
  }
  return redirectWithFlash(c, `${LIST}/${connection.id}`, 'saved');
}

/** The rules after the button was pressed; null if it is not one of the rules' buttons. */
function changedRules(
  rules: ConnectionValues['rules'],
  pressed: string,
): ConnectionValues['rules'] | null {
  if (pressed === 'add') return [...rules, EMPTY_RULE];
  const [, what, number = ''] = /^(up|remove)-(\d{1,3})$/.exec(pressed) ?? [];
  const at = Number(number);
  const rule = rules[at];
  if (what === undefined || !rule) return null;
  const others = rules.toSpliced(at, 1);
  return what === 'remove' ? others : others.toSpliced(Math.max(0, at - 1), 0, rule);
}

/** The fields of a connection as they are now, in words. */
function inWords(connection: ReturnType<typeof presentConnection>) {
  return {
    name: connection.name,
    base_url: connection.base_url,
    auth: connection.auth.type,
    agent_ids: `${connection.agent_ids.length} agents`,
    forward_headers: connection.forward_headers.join(', '),
    wait: durationText(connection.wait),
    timeout: durationText(connection.timeout),
    repeat_after: durationText(connection.repeat_after),
    rules: `${connection.rules.length} rules, as the page of the connection says`,
  };
}

/** Answers with the services to choose from. */
function sendServices(c: ConsoleContext): Response {
  const children = (
    <>
      <p>
        Which service do your agents use? The form then has the address of the service, and rules to
        begin with.
      </p>
      <ul class="files">
        {Object.entries(PRESETS).map(([key, { name, about }]) => (
          <li>
            <div class="what">
              <h2>
                <a href={`${NEW}?service=${key}`}>{name}</a>
              </h2>
              <p class="soft">{about}</p>
            </div>
          </li>
        ))}
      </ul>
      <p class="actions">
        <LinkButton href={LIST} label="Cancel" kind="quiet" />
      </p>
    </>
  );
  return sendPage(c, { title: 'Create a connection', isNarrow: true, children });
}

interface FormPage {
  values: ConnectionValues;
  /** Undefined for a connection that is not made yet. */
  connection?: { id: string; updated_at: string } | undefined;
  refusal?: Refusal | undefined;
}

/** Answers with the form of a connection. */
async function sendFormPage(
  c: SignedInRequest,
  { values, connection, refusal }: FormPage,
): Promise<Response> {
  const names = await loadNames(c.var.signedIn.context, ['agents']);
  const path = connection ? `${LIST}/${connection.id}` : LIST;
  const action = connection ? `${path}/edit` : LIST;
  return sendPage(c, {
    title: connection ? 'Change the connection' : 'Create a connection',
    isNarrow: true,
    names,
    status: refusal?.status,
    children: (
      <>
        <SignInAgain
          page={connection ? action : NEW}
          purpose={connection ? 'To change a connection' : 'To create a connection'}
        />
        <Form action={action} refusal={refusal} class="card" creates={!connection}>
          {connection && <ShownState updatedAt={connection.updated_at} />}
          {/* The first button is the one that Enter presses. */}
          <button type="submit" name="do" value="save" hidden>
            Save
          </button>
          <TextField label="Name" name="name" value={values.name} required maxlength={255} />
          {!connection && (
            <TextField
              label="Slug (optional)"
              name="slug"
              value={values.slug}
              maxlength={64}
              hint="Its name in actions, such as stripe.post. It never changes."
            />
          )}
          <TextField
            label="Base URL"
            name="base_url"
            type="url"
            value={values.base_url}
            required
            maxlength={2_048}
            placeholder="https://api.example.com"
            hint="Where calls are sent: https, with a public host name."
          />
          <CredentialFields values={values} isNew={!connection} />
          <AgentChoices
            path="agent_ids"
            agentIds={values.agent_ids}
            hint="Only these agents may call it. At least one."
          />
          <RuleFields rules={values.rules} action={action} />
          <details open={isAdvancedRefused(refusal)}>
            <summary>Times and headers</summary>
            <div class="asking-body">
              <AdvancedFields values={values} />
            </div>
          </details>
          <Submit label={connection ? 'Save the changes' : 'Create the connection'} cancel={path} />
        </Form>
      </>
    ),
  });
}
