export { jailedCellFolders } from './jail.ts';
export { memoryCellFolders } from './memory.ts';
