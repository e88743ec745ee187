// resume.ts <workspace> <run>: resumes an interrupted run through the library, and prints how it ended.
import { CloisterError, openCloister } from 'cloister';
import agents from './team.ts';

const [workspace = '', run = ''] = process.argv.slice(2);
await using cloister = await openCloister({ workspace, agents });
try {
  const { status, output } = await (await cloister.resume(run)).outcome;
  console.log(JSON.stringify({ status, output }));
} catch (error) {
  if (!(error instanceof CloisterError)) throw error;
  console.log(JSON.stringify({ code: error.code, message: error.message }));
}
