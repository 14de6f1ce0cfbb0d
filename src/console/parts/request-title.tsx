import { shorten } from '../../lib/text';
import { Written } from './text';

/** Maximum number of characters of a text in a list: one request may not push the others out of sight. */
export const MAX_IN_LIST = 120;

interface RequestTitleProps {
  title: string | null;
  /** What the request is called without a title. */
  otherwise: string;
}

/** What a request is called in a list: the title that the agent wrote, labelled as the agent's. */
export function RequestTitle({ title, otherwise }: RequestTitleProps) {
  if (title === null) return <Written text={shorten(otherwise, MAX_IN_LIST)} />;
  return (
    <>
      <span class="says">Agent says: </span>
      <Written text={shorten(title, MAX_IN_LIST)} />
    </>
  );
}
