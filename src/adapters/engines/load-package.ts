// The packages of engines are optional, and loaded only when an engine is used.
import { CloisterError } from '#base';

/** Throws `engine_failed`. */
export const loadPackage = async <T>(name: string, load: () => Promise<T>): Promise<T> => {
  try {
    return await load();
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND';
    throw new CloisterError(
      'engine_failed',
      isMissing
        ? `The package ${name} is not installed. Run \`npm install ${name}\` in this project.`
        : `The package ${name} cannot be loaded: ${String(error)}`,
      { cause: error },
    );
  }
};
