/// What a folder may hold after the power came back: the files' contents by name.
public struct CrashState: Sendable {
  public let files: [String: [UInt8]]
}

extension SimulatedDisk {
  /// How many things may or may not have happened.
  public var openChanges: Int {
    files.reduce(pendingNames.count) { $0 + $1.pending.count { !$0.isCertain } }
  }

  /// Hands over states in which the power may have left the disk: all combinations when `count` allows, otherwise
  /// chosen ones: nothing, everything, all but one, one alone, the first so many, and random ones.
  public func forEachState(
    atMost count: Int, _ random: inout SeededGenerator, _ body: (CrashState) throws -> Void
  ) rethrows {
    let changes = openChanges
    if changes < Int.bitWidth - 1 && 1 << changes <= count {
      for combination in 0..<(1 << changes) {
        try body(state((0..<changes).map { combination >> $0 & 1 == 1 }, &random))
      }
      return
    }
    for number in 0..<count {
      var chosen: [Bool]
      switch number {
      case 0: chosen = Array(repeating: false, count: changes)
      case 1: chosen = Array(repeating: true, count: changes)
      default:
        let place = random.below(changes)
        switch random.below(6) {
        case 0: chosen = (0..<changes).map { $0 != place }
        case 1: chosen = (0..<changes).map { $0 == place }
        case 2: chosen = (0..<changes).map { $0 < place }
        case 3:
          // The first so many, and stragglers.
          chosen = (0..<changes).map { $0 < place }
          for index in place..<changes { chosen[index] = random.chance(20) }
        default:
          let percent = random.pick([10, 50, 90, 97])
          chosen = (0..<changes).map { _ in random.chance(percent) }
        }
        // Names are few and would hardly occur among the pieces of files.
        if !pendingNames.isEmpty && random.chance(50) {
          let kept = random.below(pendingNames.count + 1)
          for index in pendingNames.indices {
            chosen[changes - pendingNames.count + index] = index < kept
          }
        }
      }
      try body(state(chosen, &random))
    }
  }

  /// The state in which the `chosen` changes have happened; sizes beyond what they demand are random.
  private func state(_ chosen: [Bool], _ random: inout SeededGenerator) -> CrashState {
    var next = chosen.makeIterator()
    var contents: [[UInt8]] = []
    for file in files {
      var content = file.durable
      for (change, isCertain) in file.pending where isCertain || next.next() == true {
        Self.apply(change, to: &content)
      }
      if !file.pending.isEmpty, content.count < file.size, random.chance(40) {
        let size = random.chance(50) ? file.size : content.count + random.below(file.size - content.count)
        Self.resize(&content, size)
      }
      contents.append(content)
    }
    let changes = pendingNames.filter { _ in next.next() == true }
    return CrashState(files: Self.apply(changes, to: durableNames).mapValues { contents[$0] })
  }
}
