import { Problem } from '../../errors';
import { pathId } from '../../http/path-id';
import { endSeries } from '../../permissions/series/end';
import { readForm } from '../frame/form';
import type { ConsoleContext } from '../session/access';
import { redirectWithFlash } from '../session/flash';
import { readReturnPath } from '../session/return-path';

/**
 * Ends the series that the approval of the permission in the path gave, and shows the page again
 * from which that was asked. Does nothing to a series that has ended already.
 */
export async function endLiveSeries(c: ConsoleContext): Promise<Response> {
  const form = await readForm(c);
  try {
    await endSeries(c.var.signedIn.context, { id: pathId(c, 'perm', 'permission') });
  } catch (error) {
    if (!(error instanceof Problem && error.code === 'not_found')) throw error;
  }
  return redirectWithFlash(c, readReturnPath(form.text('from')), 'ended');
}
