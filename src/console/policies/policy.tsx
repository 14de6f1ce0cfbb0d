import { invalidRequest, notFound, PROBLEMS, Problem } from '../../errors';
import { pathId } from '../../http/path-id';
import { equalJson, type Json } from '../../lib/json';
import { formatTimeOrNull } from '../../lib/time';
import { parseId } from '../../lib/typeid';
import { deletePolicy } from '../../policies/delete';
import { findShortPolicy } from '../../policies/list-short';
import { type Policy, type PolicyRow, presentPolicy } from '../../policies/policy';
import { type preloadPolicy, updatePolicy } from '../../policies/update';
import {
  readForm,
  refusalOf,
  requireUnchanged,
  requireUnchangedToActivate,
  ShownState,
} from '../frame/form';
import { sendPage } from '../frame/page';
import { Facts, PlainList } from '../parts/blocks';
import { durationText } from '../parts/duration-field';
import { Action } from '../parts/form';
import { Badge, Code, Creator, JsonText, Numeral, Time, Written } from '../parts/inline';
import { onOrOff, switchLabel } from '../parts/words';
import type { ConsoleContext, PreloadedContext } from '../session/access';
import { redirectWithFlash } from '../session/flash';
import { BudgetUsage, PolicyState } from './budget';
import { type Edited, Editor, loadEditor, readDays } from './editor';
import { PolicySentence } from './sentence';
import { ShortNotice } from './short';
import { draftOf, type PolicyDraft, readValues, valuesOf } from './values';

/**
 * Stands for a field that a few words cannot show, but the sentence at the top of the page does.
 */
const AT_TOP = 'as the sentence at the top says';

type PolicyContext = PreloadedContext<typeof preloadPolicy>;

/** Shows a policy: as a form to those who may change it, in words to others. */
export function showPolicy(c: PolicyContext): Promise<Response> {
  return sendPolicy(c, { values: valuesOf(shownPolicy(c)) });
}

/** Adds a row, tries the changed policy on past requests, or saves what was changed. */
export async function changePolicy(c: PolicyContext): Promise<Response> {
  const row = requirePolicy(c);
  const policy = shownPolicy(c);
  const form = await readForm(c);
  const values = readValues(form);
  const shown = form.text('updated_at');
  const edited = { values, days: readDays(form), shown };
  if (form.text('do') === 'add') return sendPolicy(c, { ...edited, hasNewRow: true });
  try {
    const draft = draftOf(values);
    if (form.text('do') !== 'save') return await sendPolicy(c, { ...edited, draft });
    const changes = changesOf(policy, draft);
    requireUnchanged('policy', form, policy.updated_at, inWords(policy), changes);
    if (Object.keys(changes).length > 0)
      await updatePolicy(c.var.signedIn.context, { policy: row, ...changes });
    return redirectWithFlash(c, '/console/policies', 'saved');
  } catch (error) {
    const refused = { ...edited, refusal: refusalOf(error) };
    // The page shows the other person's change, so the next attempt may overwrite it.
    const isConflict = error instanceof Problem && error.code === 'conflict';
    if (isConflict) refused.shown = policy.updated_at;
    return sendPolicy(c, refused);
  }
}

/** The fields that differ from the stored policy. Whether it is on has a button of its own. */
function changesOf(policy: Policy, draft: PolicyDraft): Partial<PolicyDraft> {
  const { is_active: _, ...fields } = draft;
  const stored = new Map<string, unknown>(Object.entries(policy));
  const written = new Map<string, unknown>(Object.entries(fields));
  written.set('expires_at', formatTimeOrNull(fields.expires_at));
  const isChanged = (name: string) =>
    !equalJson(asJson(written.get(name)), asJson(stored.get(name)));
  const changed = Object.entries(fields).filter(([name]) => isChanged(name));
  return Object.fromEntries(changed);
}

function asJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? null));
}

/**
 * Writes the present fields of a policy in words. The sentence at the top of the page shows the
 * others.
 */
function inWords({ name, effect, actions, resources, priority, reason, ...policy }: Policy) {
  return {
    name,
    effect,
    priority: String(priority),
    reason: reason ?? '',
    actions: actions.join(', '),
    resources: resources.join(', '),
    token_ttl: policy.token_ttl === null ? '' : durationText(policy.token_ttl),
    max_uses: String(policy.max_uses ?? ''),
    agent_ids: AT_TOP,
    conditions: AT_TOP,
    budget: AT_TOP,
    expires_at: AT_TOP,
  };
}

/** Switches a policy on or off: on, only if nobody changed it since the page was shown. */
export async function switchPolicy(c: PolicyContext): Promise<Response> {
  const policy = requirePolicy(c);
  const form = await readForm(c);
  const state = form.text('state');
  try {
    if (state !== 'on' && state !== 'off')
      throw invalidRequest([{ path: 'body.state', message: 'must be on or off' }]);
    if (state === 'on') requireUnchangedToActivate('policy', form, shownPolicy(c).updated_at);
    await updatePolicy(c.var.signedIn.context, { policy, is_active: state === 'on' });
  } catch (error) {
    return sendPolicy(c, { values: valuesOf(shownPolicy(c)), refusal: refusalOf(error) });
  }
  return redirectWithFlash(c, `/console/policies/${policy.id}`, 'saved');
}

/** Deletes a policy. */
export async function removePolicy(c: ConsoleContext): Promise<Response> {
  await deletePolicy(c.var.signedIn.context, { id: pathId(c, 'policy') });
  return redirectWithFlash(c, '/console/policies', 'deleted');
}

function requirePolicy(c: PolicyContext): PolicyRow {
  const policy = c.var.loaded.policy?.[0];
  if (!policy) throw notFound('policy');
  return policy;
}

/** The stored policy as the API shows it. */
function shownPolicy(c: PolicyContext): Policy {
  return presentPolicy(requirePolicy(c), c.var.signedIn.context.runtime.now());
}

/** @param edited `shown` is the version that the member has seen, if that is not the stored one */
async function sendPolicy(
  c: PolicyContext,
  edited: Edited & { shown?: string },
): Promise<Response> {
  const { context } = c.var.signedIn;
  const [contents, short] = await Promise.all([
    loadEditor(context, edited),
    findShortPolicy(context, requirePolicy(c)),
  ]);
  const mayWrite = context.principal.scopes.includes('policies:write');
  const policy = shownPolicy(c);
  const { shown = policy.updated_at } = edited;
  // As long as nobody changed it, the form says what is saved.
  const isFormSent = edited.shown !== undefined;
  const path = `/console/policies/${policy.id}`;
  return sendPage(c, {
    title: policy.name,
    names: contents.names,
    status: edited.refusal?.status,
    heading: <Written text={policy.name} />,
    children: (
      <>
        <div class="bar">
          <p class="actions">
            <Badge state={policy.effect} />
            <PolicyState policy={policy} />
            <span class="soft">
              created by <Creator id={policy.created_by} />, changed <Time at={policy.updated_at} />
            </span>
          </p>
          {mayWrite && (
            <Action
              action={`${path}/switch`}
              label={switchLabel(policy.is_active)}
              fields={{ state: onOrOff(!policy.is_active), updated_at: policy.updated_at }}
            />
          )}
        </div>
        <ShortNotice short={short} review={policy.review} />
        <RefusedApproval query={(name) => c.req.query(name)} />
        {isFormSent && <p class="soft">As it is saved:</p>}
        {(isFormSent || !mayWrite) && <PolicySentence policy={policy} />}
        <BudgetUsage policy={policy} />
        {mayWrite && (
          <>
            <Editor edited={edited} contents={contents} action={path} isNew={false}>
              <ShownState updatedAt={shown} />
            </Editor>
            <Deletion path={path} />
          </>
        )}
        {!mayWrite && <PolicyFacts policy={policy} />}
      </>
    ),
  });
}

/** Says why the request from which the policy was made is not approved. */
function RefusedApproval({ query }: { query: (name: string) => string | undefined }) {
  const id = parseId('perm', query('permission') ?? '');
  const refusal = Object.entries(PROBLEMS).find(([code]) => code === query('refused'));
  if (!id || !refusal) return null;
  const [, { meaning }] = refusal;
  return (
    <p class="notice waiting" role="status">
      The policy is saved. The request was not approved: {meaning}{' '}
      <a href={`/console/permissions/${id}`}>Open the request</a>
    </p>
  );
}

/** Everything that the sentence about a policy does not say in full. */
function PolicyFacts({ policy }: { policy: Policy }) {
  const patterns = (list: string[]) => (
    <PlainList items={list.map((text) => <Code text={text} />)} />
  );
  return (
    <section class="card">
      <Facts
        facts={[
          ['Actions', patterns(policy.actions)],
          ['Resources', patterns(policy.resources)],
          ['Priority', <Numeral of={policy.priority} />],
          policy.reason !== null && ['Reason', <Written text={policy.reason} />],
          ['Policy', <Code text={policy.id} />],
        ]}
      />
      {Object.keys(policy.conditions).length > 0 && (
        <JsonText value={policy.conditions} label="Conditions" />
      )}
    </section>
  );
}

/** The button that deletes a policy, behind one that asks. */
function Deletion({ path }: { path: string }) {
  return (
    <details class="card">
      <summary>Delete this policy</summary>
      <p>
        It then decides no more requests. Its past decisions stay. To stop it for a while, switch it
        off instead.
      </p>
      <Action action={`${path}/delete`} label="Delete it for good" kind="danger" />
    </details>
  );
}
