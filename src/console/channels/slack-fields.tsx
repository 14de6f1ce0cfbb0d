import type { Child } from 'hono/jsx';
import type { FieldError } from '../../errors';
import { type SlackConfig, SlackConfigUpdate } from '../../receivers/channels/slack/config';
import type { Refusal, SentForm } from '../frame/form';
import { TextArea, TextField } from '../parts/fields';
import { pluralOf } from '../parts/words';

export type SlackChannel = SlackConfig['channels'][number];

/** The fields of the form about the Slack app of a channel. */
export interface SlackFields {
  /** Empty if the stored token stays. */
  botToken: string;
  /** Empty if the stored secret stays. */
  signingSecret: string;
  /** One id of a Slack channel a line. */
  slackChannels: string;
}

export function readSlackFields(form: SentForm): SlackFields {
  return {
    botToken: form.text('bot_token').trim(),
    signingSecret: form.text('signing_secret').trim(),
    slackChannels: form.text('slack_channels'),
  };
}

/** The form's fields for a channel as it is. They never have its secrets. */
export function slackFieldsOf(channels: readonly SlackChannel[]): SlackFields {
  return {
    botToken: '',
    signingSecret: '',
    slackChannels: channels.map(({ id }) => id).join('\n'),
  };
}

/** The parts that can be changed by themselves, under the paths of the API's errors. */
export function slackPartsOf({ botToken, signingSecret, slackChannels }: SlackFields) {
  return {
    'config.bot_token': botToken,
    'config.signing_secret': signingSecret,
    'config.channels': readLines(slackChannels).map(({ id }) => id),
  };
}

/**
 * The `config` as the API takes it. A Slack channel that stays keeps its filter, which the form
 * does not show.
 * @param stored the Slack channels before the change; none for a new channel
 */
export function slackConfigOf(
  { botToken, signingSecret, slackChannels }: SlackFields,
  stored: readonly SlackChannel[],
): Record<string, unknown> {
  const filters = new Map(stored.map(({ id, filter }) => [id, filter]));
  const channels = readLines(slackChannels).map(({ id }) => {
    const filter = filters.get(id);
    return filter ? { id, filter } : { id };
  });
  const config: Record<string, unknown> = { channels };
  if (botToken !== '') config.bot_token = botToken;
  if (signingSecret !== '') config.signing_secret = signingSecret;
  return config;
}

/** The lines of a text that are not empty, with their numbers. */
function readLines(text: string): { id: string; line: number }[] {
  const lines = text.split('\n').map((line, index) => ({ id: line.trim(), line: index + 1 }));
  return lines.filter(({ id }) => id !== '');
}

/** The faults of the lines that name the same Slack channel as an earlier line. */
export function repeatedLineFaults({ slackChannels }: SlackFields): FieldError[] {
  const lines = readLines(slackChannels);
  return lines.flatMap(({ id }, index) => {
    const first = lines.find((other) => other.id === id);
    if (!first || first === lines[index]) return [];
    return [
      { path: `body.config.channels.${index}.id`, message: `is the same as line ${first.line}` },
    ];
  });
}

/** The faults of the `config` of a change. The API checks its fields only after the others. */
export function slackConfigFaults(config: unknown): FieldError[] {
  const { error } = SlackConfigUpdate().safeParse(config);
  return (error?.issues ?? []).map(({ path, message }) => ({
    path: ['body', 'config', ...path.map(String)].join('.'),
    message,
  }));
}

/**
 * The refusal in the words of the form: it names lines, and says which secrets have to be typed
 * again.
 */
export function inFormWords(
  refusal: Refusal,
  { botToken, signingSecret, slackChannels }: SlackFields,
): Refusal {
  const lineFault = firstLineFault(refusal.faults, slackChannels);
  // The text about lines takes the place of all faults of the Slack channels.
  const kept = [...refusal.faults].filter(
    ([path]) => lineFault === null || !path.startsWith('config.channels'),
  );
  const faults = new Map(kept);
  if (lineFault !== null) faults.set('config.channels', lineFault);
  const secrets = { 'config.bot_token': botToken, 'config.signing_secret': signingSecret };
  for (const [path, typed] of Object.entries(secrets)) {
    if (typed !== '' && !faults.has(path)) faults.set(path, 'was not saved: type it again');
  }
  return { ...refusal, faults };
}

/** Says why the first wrong line is wrong, and which others are; null if no line is. */
function firstLineFault(faults: Refusal['faults'], text: string): string | null {
  const wrong = readLines(text).flatMap(({ line }, index) => {
    const message = faults.get(`config.channels.${index}.id`);
    if (message === undefined) return [];
    return [{ line, message }];
  });
  const [first, ...others] = wrong;
  if (!first) return null;
  const fault = `line ${first.line} ${first.message}`;
  if (others.length === 0) return fault;
  const numbers = others.map(({ line }) => line).join(', ');
  return `${fault}. Look at ${pluralOf(others.length, 'line')} ${numbers} too`;
}

/** The fields for the Slack app and its channels. */
export function SlackAppFields({
  slackChannels,
  isNew,
}: {
  slackChannels: string;
  isNew: boolean;
}) {
  return (
    <>
      <SecretField
        label="Bot token"
        name="bot_token"
        isNew={isNew}
        hint={[
          'Begins with ',
          <code>xoxb-</code>,
          '. It is under “OAuth & Permissions” of your Slack app.',
        ]}
      />
      <SecretField
        label="Signing secret"
        name="signing_secret"
        isNew={isNew}
        hint="It is under “Basic Information” of your Slack app."
      />
      <TextArea
        label="Slack channels"
        name="slack_channels"
        path="config.channels"
        value={slackChannels}
        rows={4}
        spellcheck={false}
        hint={[
          'One id per line, such as ',
          <code>C024BE91L</code>,
          '. Slack shows the id at the end of a channel’s details. ',
          isNew
            ? 'With the API each Slack channel can be limited to some actions and agents.'
            : 'Channels that stay in the list keep their limits. The API can set limits for each channel.',
        ]}
      />
    </>
  );
}

interface SecretFieldProps {
  label: string;
  name: 'bot_token' | 'signing_secret';
  isNew: boolean;
  hint: Child;
}

/** A field for a secret. It is always empty, so that no page shows the secret. */
function SecretField({ label, name, isNew, hint }: SecretFieldProps) {
  return (
    <TextField
      label={label}
      name={name}
      path={`config.${name}`}
      type="password"
      autocomplete="off"
      required={isNew}
      hint={[
        hint,
        isNew ? ' It is never shown again.' : ' Leave it empty to keep the present one.',
      ]}
    />
  );
}
