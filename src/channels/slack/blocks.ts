import type {
  Button,
  ContextBlock,
  HeaderBlock,
  KnownBlock,
  MrkdwnElement,
  PlainTextElement,
  SectionBlock,
  ModalView as SlackModalView,
} from '@slack/types';

// The parts of Slack's Block Kit that the channel uses: https://docs.slack.dev/reference/block-kit

export type { InputBlock } from '@slack/types';

/** A message as `chat.postMessage` and `chat.update` take it. */
export interface SlackMessage {
  /** The text of notifications and for screen readers. Slack parses it: see `escapeText`. */
  text: string;
  blocks: KnownBlock[];
}

/** A view as `views.open` takes it. */
export interface ModalView extends SlackModalView {
  blocks: KnownBlock[];
}

/** A text that Slack shows as it is: it parses no mentions, links, markup or emoji codes in it. */
export function plain(text: string): PlainTextElement {
  return { type: 'plain_text', text, emoji: false };
}

export function header(text: string): HeaderBlock {
  return { type: 'header', text: plain(text) };
}

/** A paragraph that Slack does not fold. */
export function section(text: string): SectionBlock {
  return { type: 'section', text: plain(text), expand: true };
}

/**
 * A small print.
 * @param elements plain texts, and markup that has no texts but the service's own
 */
export function context(...elements: (string | MrkdwnElement)[]): ContextBlock {
  return {
    type: 'context',
    elements: elements.map((text) => (typeof text === 'string' ? plain(text) : text)),
  };
}

/** Buttons in a row. */
export function actions(...elements: Button[]): KnownBlock {
  return { type: 'actions', elements };
}

/**
 * A time in words that Slack translates to the reader's time zone.
 * @param before the service's own text before the time
 * @param utc the text for programs that cannot translate it
 */
export function localTime(before: string, time: number, utc: string): MrkdwnElement {
  const token = `<!date^${Math.floor(time / 1_000)}^{date_short_pretty}, {time}|${utc}>`;
  return { type: 'mrkdwn', text: `${before} ${token}`, verbatim: true };
}
