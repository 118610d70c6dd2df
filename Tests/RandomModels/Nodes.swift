import SwiftData

/// What the story asks of a model, whatever its class.
protocol Node: PersistentModel {
  var uid: Int { get set }
  static var kind: Kind { get }
  init(uid: Int)
  func value(_ attribute: Field) -> PlainValue
  func set(_ attribute: Field, _ value: PlainValue)
  func related(_ link: Link) -> [any Node]
  func relate(_ link: Link, _ others: [any Node])
}

extension Node {
  /// The model with everything that it shows.
  var record: Record {
    let kind = type(of: self).kind
    var record = Record(kind)
    for attribute in kind.attributes { record.values[attribute] = value(attribute) }
    for link in kind.links { record[link] = Set(related(link).map(\.uid)) }
    return record
  }
}

/// The story sets nothing that does not fit.
private func misfit(_ attribute: Field, _ value: PlainValue) -> Never {
  fatalError("\(attribute) cannot be \(value)")
}
private func misfit(_ link: Link) -> Never { fatalError("there is no \(link) here") }

/// As the models of another class: all that are related are of it.
private func typed<Model: Node>(_ nodes: [any Node]) -> [Model] { nodes.compactMap { $0 as? Model } }
private func one(_ node: (any Node)?) -> [any Node] { node.map { [$0] } ?? [] }

extension Thing: Node {
  func value(_ attribute: Field) -> PlainValue {
    switch attribute {
    case .name: .text(name)
    case .note: .text(note)
    case .weight: .real(weight)
    case .count: .whole(count.map(Int.init))
    case .born: .date(born)
    case .mood: .mood(mood)
    case .x: .real(point.x)
    case .y: .real(point.y)
    case .words: .words(words)
    case .payload: .bytes(payload)
    case .grade: .whole((self as? Tool)?.grade)
    case .colour: .text((self as? Toy)?.colour)
    case .size, .birthday: fatalError("a thing has no \(attribute)")
    }
  }

  func set(_ attribute: Field, _ value: PlainValue) {
    switch (attribute, value) {
    case (.name, .text(let text?)): name = text
    case (.note, .text(let text)): note = text
    case (.weight, .real(let number?)): weight = number
    case (.count, .whole(let number)): count = number.map(Int32.init)
    case (.born, .date(let date?)): born = date
    case (.mood, .mood(let value)): mood = value
    case (.x, .real(let number?)): point.x = number
    case (.y, .real(let number)): point.y = number
    case (.words, .words(let list)): words = list
    case (.payload, .bytes(let bytes)): payload = bytes
    case (.grade, .whole(let number?)): (self as? Tool)?.grade = number
    case (.colour, .text(let text)): (self as? Toy)?.colour = text
    default: misfit(attribute, value)
    }
  }

  func related(_ link: Link) -> [any Node] {
    switch link {
    case .owner: one(owner)
    case .labels: labels
    case .parts: (self as? Tool)?.parts ?? []
    default: misfit(link)
    }
  }

  func relate(_ link: Link, _ others: [any Node]) {
    switch link {
    case .owner: owner = others.first as? Person
    case .labels: labels = typed(others)
    case .parts: (self as? Tool)?.parts = typed(others)
    default: misfit(link)
    }
  }
}

extension Part: Node {
  static var kind: Kind { .part }

  func value(_ attribute: Field) -> PlainValue {
    attribute == .name ? .text(name) : .whole(Int(size))
  }
  func set(_ attribute: Field, _ value: PlainValue) {
    switch (attribute, value) {
    case (.name, .text(let text?)): name = text
    case (.size, .whole(let number?)): size = Int16(number)
    default: misfit(attribute, value)
    }
  }
  func related(_ link: Link) -> [any Node] { one(tool) }
  func relate(_ link: Link, _ others: [any Node]) { tool = others.first as? Tool }
}

extension Person: Node {
  static var kind: Kind { .person }

  func value(_ attribute: Field) -> PlainValue { attribute == .name ? .text(name) : .date(born) }
  func set(_ attribute: Field, _ value: PlainValue) {
    switch (attribute, value) {
    case (.name, .text(let text?)): name = text
    case (.birthday, .date(let date)): born = date
    default: misfit(attribute, value)
    }
  }
  func related(_ link: Link) -> [any Node] {
    switch link {
    case .things: things
    case .house: one(house)
    case .boss: one(boss)
    case .staff: staff
    default: misfit(link)
    }
  }
  func relate(_ link: Link, _ others: [any Node]) {
    switch link {
    case .things: things = typed(others)
    case .house: house = others.first as? House
    case .boss: boss = others.first as? Person
    case .staff: staff = typed(others)
    default: misfit(link)
    }
  }
}

extension Label: Node {
  static var kind: Kind { .label }

  func value(_ attribute: Field) -> PlainValue { .text(text) }
  func set(_ attribute: Field, _ value: PlainValue) {
    guard case .text(let new?) = value else { misfit(attribute, value) }
    text = new
  }
  func related(_ link: Link) -> [any Node] { things }
  func relate(_ link: Link, _ others: [any Node]) { things = typed(others) }
}

extension House: Node {
  static var kind: Kind { .house }

  func value(_ attribute: Field) -> PlainValue { .text(street) }
  func set(_ attribute: Field, _ value: PlainValue) {
    guard case .text(let new?) = value else { misfit(attribute, value) }
    street = new
  }
  func related(_ link: Link) -> [any Node] { one(tenant) }
  func relate(_ link: Link, _ others: [any Node]) { tenant = others.first as? Person }
}
