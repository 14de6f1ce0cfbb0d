import { getReceipt, type preloadReceipt, readReceiptRows } from '../../receipts/get-receipt';
import type { PreloadedContext } from '../session/access';

/** Sends the receipt of a permission as a file to save. */
export async function sendReceipt(c: PreloadedContext<typeof preloadReceipt>): Promise<Response> {
  const { signedIn, loaded } = c.var;
  const receipt = await getReceipt(signedIn.context, readReceiptRows(loaded));
  return c.json(receipt, 200, {
    'Cache-Control': 'no-store',
    'Content-Disposition': `attachment; filename="${receipt.permission_id}.json"`,
  });
}
