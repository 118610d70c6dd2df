import Foundation
import StrataCore

extension StoreConformance {
  static let valueCases: [ConformanceCase] = ValueKind.all.flatMap(roundTrips) + otherValues

  private static func value(_ object: ManagedObject, _ kind: ValueKind) -> AttributeValue {
    let type = object.entity.attributesByName[kind.attribute]?.type ?? .undefined
    return AttributeValue(object.value(forKey: kind.attribute), type: type) ?? .null
  }

  private static func roundTrips(_ kind: ValueKind) -> [ConformanceCase] {
    [
      ConformanceCase("values", "\(kind.attribute): saved and fetched") { stand in
        let coordinator = try stand.open()
        try stand.context(on: coordinator).makeItems(kind)
        let items = try stand.context(on: coordinator).all("Item", by: FetchSort("number"))
        try expectEqual(items.count, kind.values.count + 1, "items")
        for (item, wanted) in zip(items, [.null] + kind.values) {
          try expectEqual(value(item, kind), wanted, "a value")
        }
      },
      ConformanceCase("values", "\(kind.attribute): changed, and changed to nil") { stand in
        let coordinator = try stand.open()
        let context = stand.context(on: coordinator)
        let item = context.make("Item", ["number": 1 as Int64])
        try context.save()
        let other = stand.context(on: coordinator)
        let seen = try other.one("Item", "number", 1)
        for wanted in kind.values + [.null] {
          item.setValue(wanted.anyValue, forKey: kind.attribute)
          try context.save()
          try expectEqual(value(item, kind), wanted, "the value after the save")
          other.refresh(seen, mergeChanges: false)
          try expectEqual(value(seen, kind), wanted, "the value in another context")
        }
      },
      ConformanceCase("values", "\(kind.attribute): discarded by refresh and rollback") { stand in
        let context = try stand.context()
        try context.makeItems(kind)
        let item = try context.one("Item", "number", 1)
        item.setValue(nil, forKey: kind.attribute)
        context.refresh(item, mergeChanges: false)
        try expectEqual(value(item, kind), kind.values[0], "the value after refresh")
        item.setValue(kind.values.last?.anyValue, forKey: kind.attribute)
        context.rollback()
        try expectEqual(value(item, kind), kind.values[0], "the value after rollback")
      },
      ConformanceCase(
        "values", "\(kind.attribute): there when the store is opened again", needs: [.persistence]
      ) { stand in
        try stand.context().makeItems(kind)
        try stand.close()
        let items = try stand.context().all("Item", by: FetchSort("number"))
        try expectEqual(items.map { value($0, kind) }, [.null] + kind.values, "the values")
      },
    ]
  }

  private static let otherValues: [ConformanceCase] =
    [
      ConformanceCase("values", "transformable: as it was") { stand in
        let coordinator = try stand.open()
        let context = stand.context(on: coordinator)
        context.make("Item", ["number": 1 as Int64, "list": ["a", "b", "c"]])
        try context.save()
        let found = try stand.context(on: coordinator).one("Item", "number", 1)
        try expectEqual(found.value(forKey: "list") as? [String], ["a", "b", "c"], "the list")
      }
    ] + [1_000, 1_025, 70_000, 3_000_000].flatMap(largeValues)

  private static func largeValues(_ size: Int) -> [ConformanceCase] {
    let text = String(repeating: "x", count: size)
    let data = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    return [
      ConformanceCase("values", "large: a string and data of \(size) bytes") { stand in
        let coordinator = try stand.open()
        let context = stand.context(on: coordinator)
        let item = context.make("Item", ["number": 1 as Int64, "string": text, "data": data])
        try context.save()
        let other = stand.context(on: coordinator)
        let found = try other.one("Item", "number", 1)
        try expect(found.text("string") == text, "the string has changed")
        try expect(found.value(forKey: "data") as? Data == data, "the data have changed")
        item.setValue(2 as Int64, forKey: "number")
        try context.save()
        try expect(found.value(forKey: "data") as? Data == data, "the data of the older row are gone")
        other.refresh(found, mergeChanges: false)
        try expect(
          found.value(forKey: "data") as? Data == data && found.integer("number") == 2, "after refresh")
      },
      ConformanceCase("values", "large: \(size) bytes, replaced and taken away") { stand in
        let coordinator = try stand.open()
        let context = stand.context(on: coordinator)
        let item = context.make("Item", ["number": 1 as Int64, "data": data])
        try context.save()
        item.setValue(Data(data.reversed()), forKey: "data")
        try context.save()
        let found = try stand.context(on: coordinator).one("Item", "number", 1)
        try expect(
          found.value(forKey: "data") as? Data == Data(data.reversed()), "the data are not the newer ones")
        item.setValue(nil, forKey: "data")
        try context.save()
        let last = try stand.context(on: coordinator).one("Item", "number", 1)
        try expect(last.value(forKey: "data") == nil, "the data are still there")
      },
    ]
  }
}
