/// What accounts, counters and notes of transfers have come to, looked at when all transactions are over.
public struct FinalState: Sendable {
  public var lists: [[Int]] = []
  public var balances: [Int] = []
  public var counters: [Int] = []
  public var transfers: [TransactionRecord.Transfer] = []

  public init() {}
}

/// Compares transfers and increments with what has become of them. Each transfer writes a note beside both balances, so what was applied is known exactly, of those with an
/// unknown outcome, too.
public struct MoneyCheck {
  public private(set) var anomalies: [Anomaly] = []

  /// - Parameters:
  ///   - start: What each account held at first.
  ///   - hasOneState: Whether all that a transaction has read was read from one state.
  public init(_ records: [TransactionRecord], _ final: FinalState, start: Int, hasOneState: Bool) {
    checkTransfers(records, final, start)
    checkCounters(records, final)
    guard hasOneState else { return }
    for record in records where record.outcome == .acknowledged {
      for case .balances(let balances) in record.operations
      where balances.reduce(0, +) != start * balances.count {
        anomalies.append(Anomaly(.wrongSum, "\(balances.reduce(0, +)): \(record)"))
      }
    }
  }

  private mutating func checkTransfers(_ records: [TransactionRecord], _ final: FinalState, _ start: Int) {
    var notes: [Int: TransactionRecord.Transfer] = [:]
    var balances = final.balances.map { _ in start }
    for transfer in final.transfers {
      if notes.updateValue(transfer, forKey: transfer.serial) != nil {
        anomalies.append(Anomaly(.doubled, "transfer \(transfer.serial)"))
      }
      balances[transfer.from] -= transfer.amount
      balances[transfer.to] += transfer.amount
    }
    var known: Set<Int> = []
    for record in records {
      for case .transfer(let transfer) in record.operations {
        known.insert(transfer.serial)
        switch (record.outcome, notes[transfer.serial]) {
        case (.acknowledged, nil): anomalies.append(Anomaly(.lost, "\(record)"))
        case (.failed, _?): anomalies.append(Anomaly(.abortedRead, "the note of \(record) is there"))
        case (_, let note?) where note != transfer:
          anomalies.append(Anomaly(.strange, "\(note) instead of \(record)"))
        default: break
        }
      }
    }
    for serial in notes.keys where !known.contains(serial) {
      anomalies.append(Anomaly(.strange, "nobody has made the transfer \(serial)"))
    }
    if balances != final.balances {
      anomalies.append(
        Anomaly(.wrongSum, "the accounts hold \(final.balances); by their transfers it is \(balances)"))
    }
  }

  private mutating func checkCounters(_ records: [TransactionRecord], _ final: FinalState) {
    for (counter, value) in final.counters.enumerated() {
      var made: [Int: TransactionRecord] = [:]
      var (acknowledged, unknown) = (0, 0)
      for record in records where record.outcome != .failed {
        for case .increment(counter, let becomes) in record.operations {
          if record.outcome == .unknown {
            unknown += 1
            continue
          }
          acknowledged += 1
          if becomes > value { anomalies.append(Anomaly(.lost, "c\(counter) is \(value): \(record)")) }
          guard let other = made.updateValue(record, forKey: becomes) else { continue }
          anomalies.append(Anomaly(.lostUpdate, "\(other) and \(record)"))
        }
      }
      if value < acknowledged || value > acknowledged + unknown {
        anomalies.append(
          Anomaly(
            value < acknowledged ? .lost : .doubled,
            "c\(counter) is \(value), of \(acknowledged) increments that were acknowledged and \(unknown) that may be there"
          ))
      }
    }
  }
}
