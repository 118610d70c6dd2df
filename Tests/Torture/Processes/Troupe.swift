import Foundation
import TortureKit

#if os(Linux)

  /// Processes on one store, and the code that disturbs them.
  final class Troupe {
    /// One of the processes.
    private final class Member {
      let child: ChildProcess
      /// Nil for a reader.
      let worker: Int?
      /// Whether it stops itself during a commit.
      let stopsItself: Bool
      var isOpen = false
      var isDone = false
      /// Since it was stopped.
      var stop: Stop?

      init(_ child: ChildProcess, _ worker: Int?, stopsItself: Bool) {
        self.child = child
        self.worker = worker
        self.stopsItself = stopsItself
      }
    }

    /// What happened while a member stood still.
    private struct Stop {
      /// Whether it stopped with the store's lock, so that no other process can save.
      let holdsLock: Bool
      /// It continues after so many saves of others.
      var saves: Int
      let isKilled: Bool
      /// The workers that were refused as busy.
      var refused: Set<Int> = []
      /// By worker, the saves that were acknowledged.
      var acknowledged: [Int: Int] = [:]
    }

    private let path: String
    private let until: Int
    private var random: SeededGenerator
    private var members: [Member] = []
    /// By worker, the last save that was acknowledged or found.
    private var promised: [Int: Int] = [:]
    private(set) var saves = 0
    private var nextCruelty = 20
    /// How many saves others made, at most, while one stood still.
    private(set) var longestStop = 0
    private(set) var details: [String: Int] = [:]

    init(_ path: String, until: Int, seed: UInt64) {
      self.path = path
      self.until = until
      random = SeededGenerator(seed: seed)
    }

    func count(_ name: String, _ number: Int = 1) { details[name, default: 0] += number }

    /// Starts all members and disturbs them until all saves are made.
    func perform(writers: Int, readers: Int) throws {
      for worker in 1...writers { try start(worker) }
      for _ in 0..<readers { try start(nil) }
      while members.contains(where: { $0.worker != nil && !$0.isDone }) {
        try listen()
        try noticeStops()
        try release()
        if saves >= nextCruelty {
          nextCruelty = saves + 5 + random.below(30)
          try beCruel()
        }
      }
      for member in members { try end(member) }
      members = []
    }

    /// Lets a process open the store and close it again.
    func visit() throws {
      let arguments = ["member", path, "--worker", "1", "--until", "\(until)"]
      let child = try ChildProcess(ChildProcess.program("Torture"), arguments)
      let visitor = Member(child, 1, stopsItself: false)
      for line in child.readLines() { try hear(visitor, line) }
      guard visitor.isDone, child.wait() == 0 else {
        throw TortureViolation("a visitor has not come to an end")
      }
    }

    // MARK: Starting and ending

    private func start(_ worker: Int?) throws {
      var arguments = ["member", path]
      var stopsItself = false
      if let worker {
        arguments += ["--worker", "\(worker)", "--until", "\(until)"]
        stopsItself = random.chance(25)
        if stopsItself { arguments += ["--stop-at", "\(1 + random.below(60))"] }
      } else if random.chance(50) {
        arguments += ["--read-only"]
      }
      if random.chance(50) { arguments += ["--map-size", "\(1 << 16)"] }
      let child = try ChildProcess(ChildProcess.program("Torture"), arguments)
      members.append(Member(child, worker, stopsItself: stopsItself))
      count("processes")
    }

    /// Kills a member and reads its last reports.
    private func end(_ member: Member) throws {
      if member.isDone {
        member.child.wait()
        return
      }
      member.child.kill()
      for line in member.child.readLines() { try hear(member, line) }
    }

    private func replace(_ member: Member) throws {
      try end(member)
      count(member.worker == nil ? "readers killed" : "writers killed")
      members.removeAll { $0 === member }
      if !member.isDone { try start(member.worker) }
    }

    // MARK: Listening

    /// Waits for a process to report something, and records it.
    private func listen() throws {
      let isStill = !ChildProcess.haveOutput(members.filter { !$0.isDone }.map(\.child), within: 20)
      silence = isStill ? silence + 1 : 0
      guard silence < Self.patience else { throw TortureViolation("for a minute nobody has got on") }
      for member in members where !member.isDone {
        let lines = member.child.linesAtHand()
        for line in lines { try hear(member, line) }
        if member.child.isSilenced && !member.isDone {
          throw TortureViolation("\(name(member)) has ended with \(member.child.wait())")
        }
      }
    }
    /// For how long there was no report, in turns of 20 ms.
    private var silence = 0
    /// How long a silence is a hang.
    private static let patience = 3_000

    /// Records what was reported up to now.
    private func hearAll() throws {
      for member in members where !member.isDone {
        for line in member.child.linesAtHand() { try hear(member, line) }
      }
    }

    private func name(_ member: Member) -> String { member.worker.map { "writer \($0)" } ?? "a reader" }

    private func hear(_ member: Member, _ line: String) throws {
      let words = line.split(separator: " ")
      let number = words.count > 1 ? Int(words[1]) : nil
      switch (words.first, number, member.worker) {
      case ("open", let found?, let worker?):
        let last = promised[worker] ?? 0
        // One more than promised: the save in flight when the one before was killed.
        guard found == last || found == last + 1 else {
          throw TortureViolation("worker \(worker) was promised save \(last), the store has save \(found)")
        }
        if found > last {
          count("saves in flight found")
          saves += 1
        }
        promised[worker] = found
        member.isOpen = true
      case ("open", _?, nil): member.isOpen = true
      case ("look", _?, nil): count("looks")
      case ("save", let number?, let worker?):
        guard number == (promised[worker] ?? 0) + 1 else {
          throw TortureViolation("worker \(worker) made save \(number) after \(promised[worker] ?? 0)")
        }
        promised[worker] = number
        saves += 1
        count("conflicts", words.count > 2 ? Int(words[2]) ?? 0 : 0)
        try noteSave(worker)
      case ("busy", nil, let worker):
        count("refused as busy")
        if let worker { for other in members { other.stop?.refused.insert(worker) } }
      case ("done", nil, _?): member.isDone = true
      default: throw TortureViolation("\(name(member)) says: \(line)")
      }
    }

    private func noteSave(_ worker: Int) throws {
      for member in members {
        member.stop?.acknowledged[worker, default: 0] += 1
        // One may have been made before and reported afterwards.
        if let stop = member.stop, stop.holdsLock, stop.acknowledged[worker] ?? 0 > 1 {
          throw TortureViolation("worker \(worker) saved while \(name(member)) had stopped with the lock")
        }
      }
    }

    // MARK: Disturbances

    /// Records which process has stopped while it holds the lock.
    private func noticeStops() throws {
      for member in members where member.stopsItself && member.stop == nil && !member.isDone {
        guard member.child.hasStopped() else { continue }
        // What others have said up to now says nothing about the lock.
        try hearAll()
        member.stop = Stop(holdsLock: true, saves: .max, isKilled: random.chance(50))
        count("stopped with the lock")
      }
    }

    /// Lets those continue, or kills them, whose time is over.
    private func release() throws {
      for member in members {
        guard let stop = member.stop else { continue }
        let waiting = members.filter { $0.worker != nil && $0.stop == nil && !$0.isDone && $0.isOpen }
        let areAllRefused = waiting.allSatisfy { stop.refused.contains($0.worker ?? 0) }
        guard areAllRefused || stop.acknowledged.values.reduce(0, +) >= stop.saves else { continue }
        // On a busy machine others may have saved much more than was heard of.
        try hearAll()
        longestStop = max(longestStop, member.stop?.acknowledged.values.reduce(0, +) ?? 0)
        if stop.holdsLock && !waiting.isEmpty { count("deadlines kept by all", 1) }
        if stop.isKilled {
          try replace(member)
        } else {
          member.stop = nil
          member.child.resume()
        }
      }
    }

    private func beCruel() throws {
      let able = members.filter { $0.stop == nil && !$0.isDone }
      let dice = random.below(100)
      let victims = able.filter { ($0.worker == nil) == (dice % 4 == 0) }
      guard let victim = random.pickAny(victims) else { return }
      if dice < 55 {
        try replace(victim)
      } else {
        victim.child.stop()
        victim.stop = Stop(holdsLock: false, saves: random.below(40), isKilled: random.chance(40))
        count(victim.worker == nil ? "readers stopped" : "writers stopped")
      }
    }
  }

#endif
