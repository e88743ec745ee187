import { memoryCellFolders } from '#adapters/cell-folders';
import { conformCellFolders } from '../../conformance/cell-folder.ts';

conformCellFolders('a workspace in memory', async () => memoryCellFolders());
