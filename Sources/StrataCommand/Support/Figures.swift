import Dispatch
import Foundation
import struct StrataCore.Mutex

/// What some work takes: time, and memory as it goes.
final class Figures {
  private let begin = ContinuousClock.now
  private let most = Mutex(0)
  private let timer: any DispatchSourceTimer

  /// Looks at the memory twenty times a second from now on.
  init() {
    timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "strata.figures"))
    timer.schedule(deadline: .now(), repeating: .milliseconds(50))
    timer.setEventHandler { [weak self] in self?.look() }
    timer.resume()
  }

  deinit { timer.cancel() }

  private func look() {
    guard let now = Self.anonymousMemory else { return }
    most.withLock { $0 = max($0, now) }
  }

  /// Bytes of memory that are no file's; nil where the system does not tell.
  private static var anonymousMemory: Int? {
    guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
      let line = text.split(separator: "\n").first(where: { $0.hasPrefix("RssAnon:") }),
      let kilobytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) })
    else { return nil }
    return kilobytes * 1_024
  }

  /// One line: how long, how many a second, the most memory of the process's own, and with the pages of files that it has read.
  func line(_ objects: Int) -> String {
    look()
    let time = begin.duration(to: .now).components
    let seconds = Double(time.seconds) + Double(time.attoseconds) / 1e18
    var usage = rusage()
    #if canImport(Darwin)
      getrusage(RUSAGE_SELF, &usage)
      let whole = usage.ru_maxrss
    #else
      getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
      let whole = usage.ru_maxrss * 1_024
    #endif
    let processor =
      Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
      + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
    let own = most.withLock { $0 }
    let rate = seconds > 0 ? Words.grouped(Int(Double(objects) / seconds)) : "?"
    let processorRate = processor > 0 ? Words.grouped(Int(Double(objects) / processor)) : "?"
    return
      "\(hundredths(seconds)) s, \(rate) objects a second; \(hundredths(processor)) s of one processor, \(processorRate) a second of it; "
      + "at most \(own > 0 ? Words.bytes(own) : "?") of memory, \(Words.bytes(whole)) with pages of files"
  }

  private func hundredths(_ seconds: Double) -> String { String(Double(Int(seconds * 100)) / 100) }
}
