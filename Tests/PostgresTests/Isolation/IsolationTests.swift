import Foundation
import StrataCore
import Testing
import TortureKit

@testable import StrataPostgres

/// What a context's reads and its save are promised, anomaly by anomaly: what is forbidden does not happen, and what is not forbidden can happen.
@Suite struct IsolationTests {
  private typealias Manner = RecordedTransaction.Manner

  /// Two stacks on one store, as two processes have them.
  private struct Stage {
    let stand: ServerStand
    let neighbour: ServerStand
    let size = RecordedModel.Size()
    private var records: [TransactionRecord] = []

    init() throws {
      stand = try ServerStand(RecordedModel.make())
      neighbour = try stand.neighbour(RecordedModel.make())
      try RecordedModel.fill(stand.coordinator, size)
    }

    func begin(_ session: Int, _ manner: Manner) throws -> RecordedTransaction {
      try RecordedTransaction(
        session % 2 == 1 ? stand.coordinator : neighbour.coordinator, manner, session: session, number: 1)
    }

    mutating func finish(_ transaction: RecordedTransaction) -> TransactionRecord.Outcome {
      records.append(transaction.finish())
      return records[records.count - 1].outcome
    }

    /// What the record shows, when everything was looked at once more.
    mutating func anomalies() throws -> [Anomaly] {
      records.append(try RecordedModel.look(stand.coordinator, size).record)
      return IsolationCheck(records).anomalies
    }
  }

  private static let manners: [Manner] = RecordedTransaction.Reading.allCases.flatMap { reading in
    [false, true].map { Manner(reading, checksReads: $0) }
  }

  @Test(arguments: 0..<6)
  func twoThatReplaceTheSameVersionAreTold(place: Int) throws {
    let manner = Self.manners[place]
    var stage = try Stage()
    let (first, second) = (try stage.begin(1, manner), try stage.begin(2, manner))
    try first.read(lists: [0])
    try second.read(lists: [0])
    try first.append(1, to: 0)
    try second.append(2, to: 0)
    #expect(stage.finish(first) == .acknowledged)
    #expect(stage.finish(second) == .failed)
    #expect(try stage.anomalies().isEmpty)
  }

  /// The mutant: a merge policy that overwrites. It is found out.
  @Test func aMergePolicyThatOverwritesLosesUpdates() throws {
    var manner = Manner(.together)
    manner.ignoresConflicts = true
    var stage = try Stage()
    let (first, second) = (try stage.begin(1, manner), try stage.begin(2, manner))
    try first.read(lists: [0])
    try second.read(lists: [0])
    try first.append(1, to: 0)
    try second.append(2, to: 0)
    #expect(stage.finish(first) == .acknowledged)
    #expect(stage.finish(second) == .acknowledged)
    let kinds = Set(try stage.anomalies().map(\.kind))
    #expect(kinds.isSuperset(of: [.lostUpdate, .lost, .divergentOrder]))
  }

  /// Reads one list, then another has changed both, then reads the other list.
  @Test(arguments: RecordedTransaction.Reading.allCases)
  func halfOfWhatAnotherHasSavedIsSeenByThoseAloneWhoReadTwoStates(reading: RecordedTransaction.Reading)
    throws
  {
    var stage = try Stage()
    let reader = try stage.begin(1, Manner(reading))
    try reader.read(lists: reading == .together ? [0, 1] : [0])
    let writer = try stage.begin(2, Manner(.together))
    try writer.read(lists: [0, 1])
    try writer.append(1, to: 0)
    try writer.append(2, to: 1)
    #expect(stage.finish(writer) == .acknowledged)
    if reading != .together { try reader.read(lists: [1]) }
    #expect(stage.finish(reader) == .acknowledged)
    let found = try stage.anomalies()
    #expect(Set(found.map(\.kind)) == (reading == .separate ? [.readSkew] : []))
  }

  /// Values over 1,024 bytes are read when they are used, and then there is only the newest one, unless a generation is pinned.
  @Test(arguments: RecordedTransaction.Reading.allCases)
  func largeValuesBelongToTheStateOfTheirRowsInPinnedContextsAlone(reading: RecordedTransaction.Reading)
    throws
  {
    var stage = try Stage()
    let filler = try stage.begin(1, Manner(.together))
    try filler.read(lists: [0])
    for element in 100_001...100_200 { try filler.append(element, to: 0) }
    #expect(stage.finish(filler) == .acknowledged)
    let reader = try stage.begin(2, Manner(reading))
    try reader.fetch(lists: [0, 1])
    let writer = try stage.begin(3, Manner(.together))
    try writer.read(lists: [0, 1])
    try writer.append(1, to: 0)
    try writer.append(2, to: 1)
    #expect(stage.finish(writer) == .acknowledged)
    try reader.read(lists: [0, 1])
    #expect(stage.finish(reader) == .acknowledged)
    #expect(Set(try stage.anomalies().map(\.kind)) == (reading == .pinned ? [] : [.readSkew]))
  }

  /// Each reads both lists and appends to one of them.
  @Test(arguments: 0..<6)
  func writeSkewIsForbiddenToThoseAloneWhoCheckWhatTheyRead(place: Int) throws {
    let manner = Self.manners[place]
    var stage = try Stage()
    let (first, second) = (try stage.begin(1, manner), try stage.begin(2, manner))
    try first.read(lists: [0, 1])
    try second.read(lists: [0, 1])
    try first.append(1, to: 0)
    try second.append(2, to: 1)
    #expect(stage.finish(first) == .acknowledged)
    #expect(stage.finish(second) == (manner.checksReads ? .failed : .acknowledged))
    #expect(Set(try stage.anomalies().map(\.kind)) == (manner.checksReads ? [] : [.writeSkew]))
  }

  /// Who reads two states is told when the save checks them, but not when nothing is saved.
  @Test func aSaveThatChecksWhatWasReadFindsReadSkew() throws {
    var stage = try Stage()
    let reader = try stage.begin(1, Manner(.separate, checksReads: true))
    try reader.read(lists: [0])
    let writer = try stage.begin(2, Manner(.together))
    try writer.read(lists: [0, 1])
    try writer.append(1, to: 0)
    try writer.append(2, to: 1)
    #expect(stage.finish(writer) == .acknowledged)
    try reader.read(lists: [1, 2])
    try reader.append(3, to: 2)
    #expect(stage.finish(reader) == .failed)
    #expect(try stage.anomalies().isEmpty)
  }

  /// A context that reads with one fetch sees what was acknowledged before, whoever has saved it.
  @Test(arguments: RecordedTransaction.Reading.allCases)
  func whatWasAcknowledgedIsSeenByEverybodyAfterwards(reading: RecordedTransaction.Reading) throws {
    var stage = try Stage()
    for number in 1...20 {
      let transaction = try stage.begin(number, Manner(reading))
      try transaction.read(lists: [0])
      try transaction.append(number, to: 0)
      #expect(stage.finish(transaction) == .acknowledged)
    }
    #expect(try stage.anomalies().isEmpty)
  }

  /// Each counts the notes, finds none, and makes one: no row that was read has changed.
  @Test func phantomsAreNoConflict() throws {
    let stage = try Stage()
    let contexts = [stage.stand.context(), stage.neighbour.context()]
    for context in contexts { #expect(try context.all(RecordedModel.noteEntity).isEmpty) }
    for (number, context) in contexts.enumerated() {
      try context.make(
        RecordedModel.noteEntity,
        ["serial": Int64(number), "from": Int64(0), "to": Int64(1), "amount": Int64(1)])
    }
    for context in contexts { try context.save() }
    #expect(try stage.stand.context().all(RecordedModel.noteEntity).count == 2)
  }
}
