/** How slow something is: 0 not yet worth a word, 1 show its shape, 2 say what is waited for. */
import { useEffect, useState } from "react";

export function useSlow(isPending: boolean): 0 | 1 | 2 {
  const [stage, setStage] = useState<0 | 1 | 2>(0);
  useEffect(() => {
    setStage(0);
    if (!isPending) return;
    const timers = [setTimeout(() => setStage(1), 300), setTimeout(() => setStage(2), 3_000)];
    return () => timers.forEach(clearTimeout);
  }, [isPending]);
  return isPending ? stage : 0;
}
