import type { Context as HonoContext } from 'hono';
import { Problem } from '../../errors';
import type { AppEnv } from '../../http/context';
import { LinkButton, withParameters } from '../parts/blocks';
import { answerConsoleError, asPage } from './error-page';
import { sendPage } from './page';

/**
 * Answers an error of a page as {@link answerConsoleError} does. An invalid cursor gets a page of
 * its own, with a link to the first page of the list: what the API says about a cursor is meant for
 * programs.
 */
export async function answerPageError(error: Error, c: HonoContext<AppEnv>): Promise<Response> {
  const isOutdated = error instanceof Problem && error.code === 'invalid_cursor';
  if (!isOutdated || !c.req.header('Accept')?.includes('text/html'))
    return answerConsoleError(error, c);
  const first = withParameters(new URL(c.req.url), { cursor: null });
  return sendPage(asPage(c), {
    title: 'This page of the list is no longer there',
    isNarrow: true,
    status: 400,
    children: (
      <>
        <p>Its address belongs to other filters or to another account, or part of it is missing.</p>
        <p class="actions">
          <LinkButton href={first} label="Show the first page" />
        </p>
      </>
    ),
  });
}
