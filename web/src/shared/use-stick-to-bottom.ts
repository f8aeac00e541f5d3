/** Keeps the end of the stream in view until the user scrolls up. */
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

const NEAR_PX = 48;
const MARGIN_PX = 24;

export function useStickToBottom(bottom: RefObject<HTMLElement | null>, isLive: boolean, content: unknown) {
  const isFollowing = useRef(!matchMedia("(prefers-reduced-motion: reduce)").matches);
  const [isAwayFromBottom, setAwayFromBottom] = useState(false);
  const gap = useCallback(() => (bottom.current?.getBoundingClientRect().bottom ?? 0) + MARGIN_PX - innerHeight, [bottom]);

  useLayoutEffect(() => {
    if (isLive && isFollowing.current && gap() > 0) scrollBy({ top: gap(), behavior: "instant" });
    setAwayFromBottom(isLive && gap() > NEAR_PX);
  }, [content, isLive]);

  useEffect(() => {
    let top = scrollY;
    const handleScroll = () => {
      // Only the user scrolls up; the page itself scrolls down.
      if (scrollY < top - 2 && gap() > NEAR_PX) isFollowing.current = false;
      else if (gap() <= NEAR_PX && !matchMedia("(prefers-reduced-motion: reduce)").matches) isFollowing.current = true;
      top = scrollY;
      setAwayFromBottom(isLive && gap() > NEAR_PX);
    };
    addEventListener("scroll", handleScroll, { passive: true });
    return () => removeEventListener("scroll", handleScroll);
  }, [isLive]);

  const scrollToBottom = useCallback(() => scrollBy({ top: gap(), behavior: "instant" }), [gap]);
  return { isAwayFromBottom, scrollToBottom };
}
