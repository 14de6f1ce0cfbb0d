import type { Child } from 'hono/jsx';
import type { UserContext } from '../../http/context';
import { replayRequests } from '../../policies/replay';
import type { Refusal, SentForm } from '../frame/form';
import { loadNames } from '../frame/names';
import { LinkButton, Section } from '../parts/blocks';
import { SelectField } from '../parts/fields';
import { Form as PostForm } from '../parts/form';
import { loadDeciders } from './deciders';
import { PolicyFields } from './fields';
import { LiveSentence } from './live-sentence';
import { ReplayResult } from './replay';
import type { PolicyDraft, PolicyValues } from './values';

/** How many days back a replay may look. */
const DAYS = [7, 30, 90] as const;
const DEFAULT_DAYS = 30;

/** The number of days that a form chose. */
export function readDays(form: SentForm): number {
  return DAYS.find((days) => String(days) === form.text('days')) ?? DEFAULT_DAYS;
}

/** A policy to show in the editor. */
export interface Edited {
  values: PolicyValues;
  refusal?: Refusal | undefined;
  /** The policy to try on past requests. */
  draft?: PolicyDraft | undefined;
  days?: number;
  /** Whether the button for another row was pressed. */
  hasNewRow?: boolean;
}

/** The things of the account that the editor shows. */
export type EditorContents = Awaited<ReturnType<typeof loadEditor>>;

/** Loads what the editor shows, and tries the draft on past requests. */
export async function loadEditor(
  context: UserContext,
  { draft, days = DEFAULT_DAYS }: Pick<Edited, 'draft' | 'days'> = {},
) {
  const [names, members, replay] = await Promise.all([
    loadNames(context, ['people', 'agents']),
    loadDeciders(context),
    draft ? replayRequests(context, { policy: draft, days }) : null,
  ]);
  const deciders = members?.map(({ id, status }) => ({ id, isInvited: status === 'invited' }));
  return { names, deciders: deciders ?? null, replay };
}

interface EditorProps {
  edited: Edited;
  contents: EditorContents;
  /** Where the form is sent. */
  action: string;
  isNew: boolean;
  /** Shown between the fields and the buttons, to read or to check before saving. */
  children?: Child;
}

/** The form of a policy, with a trial on past requests before it is saved. */
export function Editor({ edited, contents, action, isNew, children }: EditorProps) {
  const { values, refusal, days = DEFAULT_DAYS, hasNewRow = false } = edited;
  const { deciders, replay } = contents;
  return (
    <PostForm action={action} refusal={refusal} class="policy" creates={isNew}>
      {/* The first button is the one that Enter presses: in a field, Enter must not save. */}
      <button type="submit" disabled hidden>
        Nothing
      </button>
      <div class="about">
        <LiveSentence values={values} />
        <PolicyFields
          values={values}
          action={action}
          isNew={isNew}
          hasNewRow={hasNewRow}
          deciders={deciders}
        />
      </div>
      <Section name="trial" title="Before you save" class="card trial" id="trial">
        {children}
        {replay ? (
          <ReplayResult replay={replay} days={days} />
        ) : (
          <p class="soft">
            See what this policy would have done with past requests. Trying it saves nothing and
            decides nothing.
          </p>
        )}
        <SelectField
          label="Requests of"
          name="days"
          value={String(days)}
          options={DAYS.map((number) => [String(number), `the last ${number} days`])}
        />
        <button
          type="submit"
          name="do"
          value="try"
          formaction={`${action}#trial`}
          class="quiet"
          formnovalidate
        >
          Try it on past requests
        </button>
        <div class="actions">
          <button type="submit" name="do" value="save">
            Save
          </button>
          <LinkButton href="/console/policies" label="Cancel" kind="quiet" />
        </div>
      </Section>
    </PostForm>
  );
}
