import Testing
import TortureKit

/// The check of records, on records that were written by hand: each anomaly is found, and none where there is none.
@Suite struct IsolationCheckTests {
  private typealias Operation = TransactionRecord.Operation

  /// A transaction of a session of its own; all are at work at the same time unless `at` says otherwise.
  private func transaction(
    _ session: Int, _ operations: [Operation], _ outcome: TransactionRecord.Outcome = .acknowledged,
    at time: ClosedRange<UInt64> = 10...20
  ) -> TransactionRecord {
    TransactionRecord(
      session: session, number: 1, begin: time.lowerBound, end: time.upperBound, outcome: outcome,
      operations: operations)
  }

  private func read(_ list: Int, _ elements: Int...) -> Operation { .read(list: list, elements: elements) }
  private func append(_ list: Int, _ element: Int) -> Operation { .append(list: list, element: element) }

  private func kinds(_ records: TransactionRecord...) -> Set<Anomaly.Kind> {
    Set(IsolationCheck(records).anomalies.map(\.kind))
  }

  @Test func transactionsOneAfterTheOtherShowNothing() {
    #expect(
      kinds(
        transaction(1, [read(0), append(0, 1)], at: 10...20),
        transaction(2, [read(0, 1), append(0, 2), read(1), append(1, 3)], at: 30...40),
        transaction(3, [read(0, 1, 2), read(1, 3)], at: 50...60),
        transaction(4, [read(0), append(0, 9)], .failed, at: 30...40)
      ).isEmpty)
  }

  @Test func transactionsAtTheSameTimeThatHaveAnOrderShowNothing() {
    #expect(
      kinds(
        transaction(2, [read(0, 1), append(0, 2)]), transaction(3, [read(0, 1, 2)]),
        transaction(1, [read(0), append(0, 1)])
      ).isEmpty)
  }

  @Test func whatWasAcknowledgedAndIsNotThereIsLost() {
    #expect(
      kinds(transaction(1, [append(0, 1)], at: 10...20), transaction(2, [read(0)], at: 30...40))
        == [.lost])
  }

  @Test func whatNobodyKnowsTheOutcomeOfMayBeThereOrNot() {
    let doubtful = transaction(1, [read(0), append(0, 1)], .unknown, at: 10...20)
    #expect(kinds(doubtful, transaction(2, [read(0)], at: 30...40)).isEmpty)
    #expect(kinds(doubtful, transaction(2, [read(0, 1)], at: 30...40)).isEmpty)
    // But whole: the other half is missing.
    #expect(
      kinds(
        transaction(1, [read(0), append(0, 1), read(1), append(1, 2)], .unknown, at: 10...20),
        transaction(2, [read(0, 1), read(1)], at: 30...40),
        transaction(3, [read(0, 1), read(1, 2)], at: 50...60)
      )
      .contains(.readSkew))
  }

  @Test func whatIsThereTwiceIsFound() {
    #expect(
      kinds(transaction(1, [append(0, 1)]), transaction(2, [read(0, 1, 1)])).contains(.doubled))
  }

  @Test func whatNobodyHasWrittenIsFound() {
    #expect(kinds(transaction(2, [read(0, 7)])).contains(.strange))
  }

  @Test func aReadOfWhatFailedIsG1a() {
    #expect(
      kinds(transaction(1, [read(0), append(0, 1)], .failed), transaction(2, [read(0, 1)]))
        == [.abortedRead])
  }

  @Test func aReadOfWhatWasWrittenInBetweenIsG1b() {
    #expect(
      kinds(
        transaction(1, [read(0), append(0, 1), append(0, 2)]), transaction(2, [read(0, 1)])
      ).contains(.intermediateRead))
  }

  @Test func twoReadsThatAreNotMomentsOfOneListAreFound() {
    #expect(
      kinds(
        transaction(1, [append(0, 1)]), transaction(2, [append(0, 2)]), transaction(3, [read(0, 1, 2)]),
        transaction(4, [read(0, 2)])
      ).contains(.divergentOrder))
  }

  @Test func twoThatReplaceTheSameVersionLoseAnUpdate() {
    let found = kinds(
      transaction(1, [read(0), append(0, 1)]), transaction(2, [read(0), append(0, 2)]))
    #expect(found.contains(.lostUpdate))
  }

  @Test func aListThatChangesWithinATransactionIsFound() {
    #expect(
      kinds(transaction(1, [read(0), append(0, 1)]), transaction(2, [read(0), read(0, 1)]))
        .contains(.changedRead))
  }

  @Test func whatWasAcknowledgedBeforeATransactionBeganMustBeSeenByIt() {
    let found = IsolationCheck([
      transaction(1, [read(0), append(0, 1)], at: 10...20), transaction(2, [read(0)], at: 30...40),
      transaction(3, [read(0, 1)], at: 30...40),
    ]).anomalies
    #expect(found.contains { $0.kind == .staleRead })
    #expect(found.contains { $0.kind == .readSkew && $0.isRealTime })
  }

  @Test func aCycleOfWritesIsG0() {
    // Each list is in another order.
    let found = kinds(
      transaction(1, [append(0, 1), append(1, 1)]), transaction(2, [append(0, 2), append(1, 2)]),
      transaction(3, [read(0, 1, 2), read(1, 2, 1)]))
    #expect(found.contains(.writeCycle))
    #expect(!found.contains(.divergentOrder))
  }

  @Test func aCycleOfWritesAndReadsIsG1c() {
    let found = kinds(
      transaction(1, [append(0, 1), read(1, 2)]), transaction(2, [append(1, 2), read(0, 1)]))
    #expect(found == [.informationCycle])
  }

  @Test func oneWhoSeesHalfOfATransactionHasReadSkew() {
    #expect(
      kinds(
        transaction(1, [read(0), append(0, 1), read(1), append(1, 2)]),
        transaction(2, [read(0, 1), read(1)]), transaction(3, [read(1, 2)])
      ) == [.readSkew])
  }

  @Test func twoReadersThatDoNotAgreeWhoCameFirstAreNonadjacent() {
    // The long fork: what each has read lacks what the other has.
    #expect(
      kinds(
        transaction(1, [read(0), append(0, 1)]), transaction(2, [read(1), append(1, 2)]),
        transaction(3, [read(0, 1), read(1)]), transaction(4, [read(0), read(1, 2)])
      ) == [.nonadjacent])
  }

  @Test func twoThatReadWhatTheOtherReplacesHaveWriteSkew() {
    #expect(
      kinds(
        transaction(1, [read(0), read(1), append(0, 1)]), transaction(2, [read(0), read(1), append(1, 2)]),
        transaction(3, [read(0, 1), read(1, 2)])
      ) == [.writeSkew])
  }

  @Test func aCycleThroughTimeIsFound() {
    // The first began after the second had ended, but the list says otherwise.
    let found = IsolationCheck([
      transaction(1, [append(0, 1)], at: 30...40), transaction(2, [append(0, 2)], at: 10...20),
      transaction(3, [read(0, 1, 2)], at: 50...60),
    ]).anomalies
    #expect(found.map(\.kind) == [.writeCycle])
    #expect(found.map(\.isRealTime) == [true])
  }

  @Test func anomaliesNameTheTransactions() throws {
    let anomaly = try #require(
      IsolationCheck([
        transaction(1, [read(0), read(1), append(0, 1)]), transaction(2, [read(0), read(1), append(1, 2)]),
        transaction(3, [read(0, 1), read(1, 2)]),
      ]).anomalies.first)
    #expect(anomaly.description.contains("T2.1 -rw l0 without 1-> T1.1 -rw l1 without 2-> T2.1"))
    #expect(anomaly.description.contains("append 2 to l1"))
  }

  @Test func whatIsForbiddenDependsOnHowOneReads() {
    let mayBe = Isolation.allCases.map { isolation in
      Set(Anomaly.Kind.allCases.filter { !isolation.forbids($0) })
    }
    #expect(mayBe == [[.readSkew, .nonadjacent, .writeSkew], [.writeSkew], []])
  }

  @Test func recordsGoThroughLines() throws {
    var record = transaction(
      1,
      [
        read(0, 1, 2), append(0, 3), .balances([1, 2]), .increment(counter: 1, becomes: 2),
        .transfer(TransactionRecord.Transfer(serial: 1, from: 0, to: 1, amount: 5)),
      ], .unknown)
    record.refusal = "“why”\nnot"
    let line = try record.line
    #expect(!line.contains("\n"))
    #expect(try TransactionRecord(line: line) == record)
  }

  // MARK: Money

  private func money(_ records: [TransactionRecord], _ change: (inout FinalState) -> Void = { _ in })
    -> Set<Anomaly.Kind>
  {
    var final = FinalState()
    final.balances = [10, 10]
    final.counters = [0]
    change(&final)
    return Set(MoneyCheck(records, final, start: 10, hasOneState: true).anomalies.map(\.kind))
  }

  @Test func transfersMustBeThereOnceOrNotAtAll() {
    let transfer = TransactionRecord.Transfer(serial: 7, from: 0, to: 1, amount: 3)
    func made(_ outcome: TransactionRecord.Outcome) -> [TransactionRecord] {
      [transaction(1, [.transfer(transfer)], outcome)]
    }
    #expect(money(made(.acknowledged)) == [.lost])
    #expect(money(made(.unknown)).isEmpty)
    #expect(money(made(.failed)).isEmpty)
    for outcome in [TransactionRecord.Outcome.acknowledged, .unknown] {
      #expect(
        money(made(outcome)) { final in
          final.transfers = [transfer]
          final.balances = [7, 13]
        }.isEmpty)
    }
    #expect(
      money(made(.failed)) { final in
        final.transfers = [transfer]
        final.balances = [7, 13]
      } == [.abortedRead])
    #expect(
      money(made(.acknowledged)) { final in
        final.transfers = [transfer]
        final.balances = [7, 10]
      } == [.wrongSum])
    #expect(
      money(made(.acknowledged)) { final in
        final.transfers = [transfer, transfer]
        final.balances = [4, 16]
      } == [.doubled])
  }

  @Test func aReadOfAllAccountsMustHaveTheirSum() {
    #expect(money([transaction(1, [.balances([9, 11])])]).isEmpty)
    #expect(money([transaction(1, [.balances([9, 10])])]) == [.wrongSum])
  }

  @Test func countersCountWhatWasAcknowledged() {
    func increment(_ session: Int, _ value: Int, _ outcome: TransactionRecord.Outcome = .acknowledged)
      -> TransactionRecord
    { transaction(session, [.increment(counter: 0, becomes: value)], outcome) }
    #expect(money([increment(1, 1), increment(2, 2)]) { $0.counters = [2] }.isEmpty)
    #expect(money([increment(1, 1), increment(2, 1)]) { $0.counters = [1] }.contains(.lostUpdate))
    #expect(money([increment(1, 1)]).contains(.lost))
    #expect(money([increment(1, 1)]) { $0.counters = [2] } == [.doubled])
    #expect(money([increment(1, 1), increment(2, 2, .unknown)]) { $0.counters = [2] }.isEmpty)
  }
}
