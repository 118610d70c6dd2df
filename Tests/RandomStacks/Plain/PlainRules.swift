import CoreData

/// A rule of the model that a record breaks.
struct PlainViolation: Hashable, CustomStringConvertible {
  let number: Int
  let key: String
  let code: Int

  var description: String { "#\(number).\(key) \(code)" }
}

extension PlainGraph {
  /// What a save of `number` must refuse.
  func violations(_ number: Int) -> [PlainViolation] {
    guard let record = records[number] else { return [] }
    var result: [PlainViolation] = []
    func add(_ key: String, _ code: Int) {
      result.append(PlainViolation(number: number, key: key, code: code))
    }
    for attribute in model.attributes[record.kind] where !attribute.isTransient {
      let value = record.values[attribute.name] ?? .none
      if value == .none {
        if !attribute.isOptional { add(attribute.name, NSValidationMissingMandatoryPropertyError) }
      } else if let least = attribute.least {
        let isLess =
          switch value {
          case .integer(let number): number < least
          case .double(let number): number < Double(least)
          default: false
          }
        if isLess { add(attribute.name, NSManagedObjectValidationError) }
      }
    }
    for end in model.relationships[record.kind] {
      let count = members(number, end.name).count
      if count == 0 {
        if !end.isOptional, !end.isToMany { add(end.name, NSValidationMissingMandatoryPropertyError) }
      } else if end.isToMany {
        if count < end.least { add(end.name, NSValidationRelationshipLacksMinimumCountError) }
        if end.most > 0, count > end.most { add(end.name, NSValidationRelationshipExceedsMaximumCountError) }
      }
    }
    return result
  }
}
