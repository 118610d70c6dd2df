import SwiftData

/// A fetch that both sides answer.
enum Question: Sendable {
  case named(String)
  case heavier(than: Double, limit: Int?, offset: Int?)
  case owned(byName: String)
  case graded(atLeast: Int)
  case owners(ofMoreThan: Int)
  case labelled(String)
  case inMood(Mood)
  case farther(than: Double)
  case unnoted
  case withoutBoss
  case noting(String)
  case livingIn(String)

  static func random(_ dice: inout Dice) -> Question {
    guard case .text(let text?) = PlainValue.random(.name, &dice) else { return .unnoted }
    let number = dice.roll(1_000)
    switch dice.roll(12) {
    case 0: return .named(text)
    case 1:
      return .heavier(
        than: Double(number) / 8 - 20, limit: dice.chance(50) ? dice.roll(10) : nil,
        offset: dice.chance(50) ? dice.roll(10) : nil)
    case 2: return .owned(byName: text)
    case 3: return .graded(atLeast: number - 500)
    case 4: return .owners(ofMoreThan: dice.roll(4))
    case 5: return .labelled(text)
    case 6: return .inMood(Mood.allCases[number % 3])
    case 7: return .farther(than: Double(number))
    case 8: return .unnoted
    case 9: return .withoutBoss
    case 10: return .noting("\(number % 10)")
    default: return .livingIn(text)
    }
  }

  // MARK: As the reference answers it

  private var kinds: Set<Kind> {
    switch self {
    case .graded: [.tool]
    case .owners, .withoutBoss, .livingIn: [.person]
    default: [.thing, .tool, .toy]
    }
  }

  func answer(_ records: [Int: Record]) -> [Int] {
    let found = records.filter { kinds.contains($0.value.kind) && matches($0.value, records) }.keys.sorted()
    guard case .heavier(_, let limit, let offset) = self else { return found }
    func weight(_ uid: Int) -> Double {
      if case .real(let weight?) = records[uid]?.values[.weight] { return weight }
      return 0
    }
    let sorted = found.sorted { (weight($0), -$0) > (weight($1), -$1) }.dropFirst(offset ?? 0)
    return Array(limit.map { sorted.prefix($0) } ?? sorted)
  }

  private func matches(_ record: Record, _ records: [Int: Record]) -> Bool {
    func isNamed(_ link: Link, _ name: String) -> Bool {
      record[link].contains { records[$0]?.values[.name] == .text(name) }
    }
    func number(_ attribute: Field) -> Double {
      if case .real(let number?) = record.values[attribute] { return number }
      return 0
    }
    switch self {
    case .named(let name): return record.values[.name] == .text(name)
    case .heavier(let weight, _, _): return number(.weight) > weight
    case .owned(let name): return isNamed(.owner, name)
    case .graded(let least):
      if case .whole(let grade?) = record.values[.grade] { return grade >= least }
      return false
    case .owners(let count): return record[.things].count > count
    case .labelled(let text): return isNamed(.labels, text)
    case .inMood(let mood): return record.values[.mood] == .mood(mood)
    case .farther(let x): return number(.x) > x
    case .unnoted: return record.values[.note] == .text(nil)
    case .withoutBoss: return record[.boss].isEmpty
    case .noting(let text):
      if case .text(let note?) = record.values[.note] { return note.contains(text) }
      return false
    case .livingIn(let street): return isNamed(.house, street)
    }
  }

  // MARK: As a context answers it

  var isOrdered: Bool { if case .heavier = self { true } else { false } }

  func ask(_ asker: some Asker) throws {
    switch self {
    case .named(let name): try asker.ask(FetchDescriptor<Thing>(predicate: #Predicate { $0.name == name }))
    case .heavier(let weight, let limit, let offset):
      var descriptor = FetchDescriptor<Thing>(
        predicate: #Predicate { $0.weight > weight },
        sortBy: [SortDescriptor(\.weight, order: .reverse), SortDescriptor(\.uid)])
      descriptor.fetchLimit = limit
      descriptor.fetchOffset = offset
      try asker.ask(descriptor)
    case .owned(let name):
      try asker.ask(FetchDescriptor<Thing>(predicate: #Predicate { $0.owner?.name == name }))
    case .graded(let least):
      try asker.ask(FetchDescriptor<Tool>(predicate: #Predicate { $0.grade >= least }))
    case .owners(let count):
      try asker.ask(FetchDescriptor<Person>(predicate: #Predicate { $0.things.count > count }))
    case .labelled(let text):
      try asker.ask(
        FetchDescriptor<Thing>(predicate: #Predicate { $0.labels.contains { $0.text == text } }))
    case .inMood(let mood): try asker.ask(FetchDescriptor<Thing>(predicate: #Predicate { $0.mood == mood }))
    case .farther(let x): try asker.ask(FetchDescriptor<Thing>(predicate: #Predicate { $0.point.x > x }))
    case .unnoted: try asker.ask(FetchDescriptor<Thing>(predicate: #Predicate { $0.note == nil }))
    case .withoutBoss: try asker.ask(FetchDescriptor<Person>(predicate: #Predicate { $0.boss == nil }))
    case .noting(let text):
      try asker.ask(
        FetchDescriptor<Thing>(predicate: #Predicate { $0.note.flatMap { $0.contains(text) } == true }))
    case .livingIn(let street):
      try asker.ask(FetchDescriptor<Person>(predicate: #Predicate { $0.house?.street == street }))
    }
  }
}

/// Whoever has fetch descriptors answered.
protocol Asker {
  func ask<Model: Node>(_ descriptor: FetchDescriptor<Model>) throws
}
