import Foundation
import Strata
import TortureKit

/// Makes random predicates about the objects of an entity.
struct RandomQueries {
  var random: SeededGenerator
  let values = QueryValues()
  /// The IDs that predicates may name.
  let identifiers: [String: [ManagedObjectID]]
  private var variables = 0

  init(seed: UInt64, identifiers: [String: [ManagedObjectID]]) {
    random = SeededGenerator(seed: seed)
    self.identifiers = identifiers
  }

  /// The object that names begin at: the one of the request, or a variable of a sub-query.
  struct Base {
    let expression: FetchExpression
    let entity: String
    /// What sub-queries inside may also look at.
    var outer: [(expression: FetchExpression, entity: String)] = []

    func key(_ names: String...) -> FetchExpression { .keyPath(base: expression, keys: names) }
    func path(_ names: [String]) -> FetchExpression { .keyPath(base: expression, keys: names) }
  }

  mutating func predicate(_ entity: String) -> FetchPredicate {
    predicate(Base(expression: .evaluatedObject, entity: entity), depth: random.below(4))
  }

  mutating func predicate(_ base: Base, depth: Int) -> FetchPredicate {
    if depth > 0 {
      switch random.below(5) {
      case 0: return .and((0..<(1 + random.below(3))).map { _ in predicate(base, depth: depth - 1) })
      case 1, 2: return .or((0..<(1 + random.below(3))).map { _ in predicate(base, depth: depth - 1) })
      case 3: return .not(predicate(base, depth: depth - 1))
      default: break
      }
    }
    switch random.below(26) {
    case 0...6: return own(base)
    case 7...10: return along(base, isToMany: false)
    case 11...13: return along(base, isToMany: true)
    case 14...16: return objects(base)
    case 17...18: return count(base, depth: depth)
    case 19: return aggregate(base)
    case 20: return random.chance(50) ? keys(base) : ends(base)
    case 21...22: return calculated(base)
    case 23: return conditional(base)
    case 24: return mixed(base)
    default: return random.chance(50) ? .everything : .nothing
    }
  }

  // MARK: One attribute and a constant

  private mutating func attribute(_ entity: String) -> (name: String, type: AttributeType) {
    random.pick(QueryModel.attributes[entity] ?? [])
  }

  private mutating func own(_ base: Base) -> FetchPredicate {
    if random.chance(10), let other = random.pickAny(base.outer) {
      return own(Base(expression: other.expression, entity: other.entity))
    }
    let attribute = attribute(base.entity)
    return comparison(base.key(attribute.name), attribute.type, .direct)
  }

  /// A comparison with a constant that the attribute's type can have, or nearly.
  private mutating func comparison(
    _ left: FetchExpression, _ type: AttributeType, _ quantifier: FetchComparison.Quantifier
  ) -> FetchPredicate {
    if type == .string, random.chance(45) { return text(left, quantifier) }
    switch random.below(10) {
    case 0:
      let list = (0..<random.below(5)).map { _ in FetchExpression.constant(constant(type)) }
      return .compare(FetchComparison(left, .in, .list(list), quantifier: quantifier))
    case 1:
      let bounds = [FetchExpression.constant(constant(type)), .constant(constant(type))]
      return .compare(FetchComparison(left, .between, .list(bounds), quantifier: quantifier))
    default:
      let operation = random.pick([
        ComparisonOperator.equal, .equal, .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual,
      ])
      let right = FetchExpression.constant(constant(type))
      if quantifier == .direct, random.chance(10) {
        return .compare(FetchComparison(right, operation, left))
      }
      return .compare(FetchComparison(left, operation, right, quantifier: quantifier))
    }
  }

  private mutating func constant(_ type: AttributeType) -> AttributeValue {
    if QueryModel.isNumber(type) || type == .boolean || type == .string, random.chance(10) {
      return values.constantOfAnotherKind(beside: type, &random)
    }
    if random.chance(25), QueryModel.isNumber(type) || type == .boolean {
      return values.number(beside: type, &random)
    }
    if random.chance(5), type == .integer16 || type == .integer64 {
      return random.pick([.double(2.5), .double(-1), .integer(100_000), .double(1e30)])
    }
    return values.value(type, &random, nilChance: 8)
  }

  private mutating func text(_ left: FetchExpression, _ quantifier: FetchComparison.Quantifier)
    -> FetchPredicate
  {
    let options = random.pick([
      FetchComparison.StringOptions(), [], .caseInsensitive, .diacriticInsensitive,
      [.caseInsensitive, .diacriticInsensitive], .normalized,
    ])
    let operation = random.pick([
      ComparisonOperator.beginsWith, .contains, .endsWith, .like, .matches, .equal, .less, .greaterOrEqual,
      .in,
    ])
    let part = random.pick(["a", "n", "an", "An", "é", "", "zo", "A", "日"])
    let right: FetchExpression
    switch operation {
    case .like:
      right = .constant(
        .string(random.pick(["a*", "*n", "*n*", "?nn?", "A??a", "*", "", "x\\*y", "z*é", "b*"])))
    case .matches:
      right = .constant(.string(random.pick([".*a", "a.*", "[az].*", "(nn|a)", ".{3,4}", "x.y"])))
    case .in: right = .list((0..<3).map { _ in .constant(.string(random.pick(QueryValues.texts))) })
    case .equal, .less, .greaterOrEqual: right = .constant(.string(random.pick(QueryValues.texts)))
    default: right = .constant(.string(part))
    }
    // The reference folds patterns as texts, which is not what happens to the letters of an expression.
    return .compare(
      FetchComparison(
        left, operation, right, quantifier: quantifier, options: operation == .matches ? [] : options))
  }

  // MARK: Relationships

  /// A path along relationships that `isToMany` says whether it has members at its end.
  private mutating func path(_ entity: String, isToMany: Bool) -> (names: [String], entity: String)? {
    var names: [String] = []
    var entity = entity
    var hasMany = false
    for step in 0..<3 {
      let links = (QueryModel.links[entity] ?? [:]).filter { isToMany || !$0.value.isToMany }
      guard let name = random.pickAny(links.keys.sorted()), let link = links[name] else { break }
      names.append(name)
      entity = link.destination
      if link.isToMany { hasMany = true }
      if (!isToMany || hasMany), random.chance(step == 0 ? 65 : 80) { break }
    }
    return names.isEmpty || hasMany != isToMany ? nil : (names, entity)
  }

  private mutating func along(_ base: Base, isToMany: Bool) -> FetchPredicate {
    guard let path = path(base.entity, isToMany: isToMany) else { return own(base) }
    let attribute = attribute(path.entity)
    return comparison(
      base.path(path.names + [attribute.name]), attribute.type,
      isToMany ? (random.chance(70) ? .any : .all) : .direct)
  }

  private mutating func some(_ entity: String) -> [ManagedObjectID] {
    let all = identifiers[entity] ?? []
    return all.isEmpty ? [] : (0..<(1 + random.below(4))).map { _ in random.pick(all) }
  }

  private mutating func objects(_ base: Base) -> FetchPredicate {
    if random.chance(20) {
      let list = some(base.entity)
      let isOne = random.chance(40) && !list.isEmpty
      return .compare(
        FetchComparison(
          random.chance(50) ? base.expression : base.key("objectID"),
          isOne ? random.pick([.equal, .notEqual]) : .in,
          .objects(isOne ? [list[0]] : list)))
    }
    let isToMany = random.chance(40)
    guard let path = path(base.entity, isToMany: isToMany) else { return own(base) }
    if random.chance(15) { return entities(base, path.names, isToMany) }
    let left = base.path(path.names)
    let list = some(path.entity)
    guard let first = list.first else { return own(base) }
    if isToMany {
      switch random.below(4) {
      case 0: return .compare(FetchComparison(.objects([first]), .in, left))
      case 1: return .compare(FetchComparison(left, .contains, .objects([first])))
      case 2:
        return .compare(FetchComparison(left, .in, .objects(list), quantifier: random.pick([.any, .all])))
      default:
        return .compare(
          FetchComparison(
            left, random.pick([.equal, .notEqual]), .objects([first]), quantifier: random.pick([.any, .all])))
      }
    }
    switch random.below(5) {
    case 0: return .compare(FetchComparison(left, random.pick([.equal, .notEqual]), .constant(.null)))
    case 1: return .compare(FetchComparison(left, .in, .objects(list)))
    case 2: return .compare(FetchComparison(.list(list.map { .objects([$0]) }), .contains, left))
    default: return .compare(FetchComparison(left, random.pick([.equal, .notEqual]), .objects([first])))
    }
  }

  /// The entity of an object, or of what a path leads to, compared with another one.
  private mutating func entities(_ base: Base, _ names: [String], _ isToMany: Bool) -> FetchPredicate {
    let isOwn = !isToMany && random.chance(40)
    let left = base.path((isOwn ? [] : names) + ["entity"])
    let quantifier = isToMany ? random.pick([FetchComparison.Quantifier.any, .all]) : .direct
    if random.chance(30) {
      let list = (0..<(1 + random.below(3))).map { _ in FetchExpression.entity(random.pick(Self.entities)) }
      return .compare(FetchComparison(left, .in, .list(list), quantifier: quantifier))
    }
    let operation = random.pick([ComparisonOperator.equal, .notEqual])
    if !isToMany, random.chance(20) {
      return .compare(FetchComparison(left, operation, base.key("entity")))
    }
    return .compare(
      FetchComparison(left, operation, .entity(random.pick(Self.entities)), quantifier: quantifier))
  }

  private static let entities = ["Agent", "Agent", "Pilot", "Pilot", "Place", "Visit", "Tag"]

  private mutating func members(_ base: Base) -> (expression: FetchExpression, entity: String)? {
    guard let path = path(base.entity, isToMany: true) else { return nil }
    return (base.path(path.names), path.entity)
  }

  private mutating func count(_ base: Base, depth: Int) -> FetchPredicate {
    guard var members = members(base) else { return own(base) }
    if random.chance(65) {
      variables += 1
      let name = "x\(variables)"
      let inner = Base(
        expression: .variable(name), entity: members.entity,
        outer: base.outer + [(base.expression, base.entity)])
      members.expression = .subquery(
        members.expression, variable: name, predicate(inner, depth: min(depth, 2)))
    }
    let operation = random.pick([
      ComparisonOperator.greater, .equal, .notEqual, .less, .greaterOrEqual, .lessOrEqual,
    ])
    return .compare(
      FetchComparison(
        .aggregate(.count, members.expression), operation, .constant(.integer(Int64(random.below(4))))))
  }

  private mutating func aggregate(_ base: Base) -> FetchPredicate {
    guard let path = path(base.entity, isToMany: true) else { return own(base) }
    let numbers: [String: [String]] = [
      "Agent": ["short", "medium", "measure", "price", "flag"], "Place": ["size"], "Visit": ["score"],
      "Tag": ["serial"], "Desk": ["number"],
    ]
    let ordered: [String: [String]] = [
      "Agent": ["name", "moment", "long"], "Place": ["code"], "Visit": ["day"], "Tag": ["label"],
      "Desk": ["number"],
    ]
    let isNumeric = random.chance(60)
    let name = random.pick((isNumeric ? numbers : ordered)[path.entity] ?? ["serial"])
    let type = QueryModel.attributes[path.entity]?.first { $0.name == name }?.type ?? .integer64
    let aggregate = random.pick(
      isNumeric ? [FetchAggregate.sum, .average, .minimum, .maximum, .count] : [.minimum, .maximum, .count])
    var right = values.value(type, &random, nilChance: 8)
    if aggregate == .count || type == .boolean { right = .integer(Int64(random.below(4))) }
    if aggregate == .average { right = .double(Double(random.below(9) - 4) / 2) }
    return .compare(
      FetchComparison(
        .aggregate(aggregate, base.path(path.names + [name])),
        random.pick([.less, .greaterOrEqual, .equal, .notEqual]), .constant(right)))
  }

  // MARK: Expressions

  private mutating func keys(_ base: Base) -> FetchPredicate {
    let other = random.pickAny(base.outer).map { Base(expression: $0.expression, entity: $0.entity) } ?? base
    let attribute = attribute(base.entity)
    let partners = (QueryModel.attributes[other.entity] ?? []).filter {
      QueryModel.isNumber(attribute.type) ? QueryModel.isNumber($0.type) : $0.type == attribute.type
    }
    guard let partner = random.pickAny(partners) else { return own(base) }
    let operations: [ComparisonOperator] =
      attribute.type == .string
      ? [.equal, .notEqual, .less, .contains, .beginsWith, .endsWith]
      : [.equal, .notEqual, .less, .greaterOrEqual]
    return .compare(
      FetchComparison(base.key(attribute.name), random.pick(operations), other.key(partner.name)))
  }

  /// What two relationships lead to, which may begin at objects of different entities, compared.
  private mutating func ends(_ base: Base) -> FetchPredicate {
    let other = random.pickAny(base.outer).map { Base(expression: $0.expression, entity: $0.entity) } ?? base
    func root(_ entity: String) -> String { entity == "Pilot" ? "Agent" : entity }
    guard let left = path(base.entity, isToMany: random.chance(40)) else { return own(base) }
    for _ in 0..<6 {
      guard let right = path(other.entity, isToMany: random.chance(30)),
        root(right.entity) == root(left.entity)
      else { continue }
      let (isMany, isAmong) = (hasMany(base.entity, left.names), hasMany(other.entity, right.names))
      return .compare(
        FetchComparison(
          base.path(left.names), isAmong ? .in : random.pick([.equal, .notEqual]), other.path(right.names),
          quantifier: isMany ? random.pick([.any, .all]) : .direct))
    }
    return own(base)
  }

  private func hasMany(_ entity: String, _ names: [String]) -> Bool {
    var entity = entity
    for name in names {
      guard let link = QueryModel.links[entity]?[name] else { return false }
      if link.isToMany { return true }
      entity = link.destination
    }
    return false
  }

  private mutating func number(_ base: Base, depth: Int) -> FetchExpression {
    let numbers: [String: [String]] = [
      "Agent": ["short", "medium", "long", "measure", "price", "ratio", "flag"],
      "Pilot": ["short", "hours", "long", "measure", "price", "ratio", "flag"],
      "Place": ["size", "height"], "Visit": ["score"], "Tag": ["weight"], "Desk": ["number"],
    ]
    if depth == 0 || random.chance(30) {
      if random.chance(30) {
        return .constant(
          random.pick([
            .integer(2), .integer(0), .double(0.5), .integer(-3), .double(2), .integer(1_000), .float(0.1),
            .decimal(Decimal(3) / 10), .decimal(2), .boolean(true),
          ]))
      }
      return base.key(random.pick(numbers[base.entity] ?? ["serial"]))
    }
    let function = random.pick([
      FetchFunction.add, .subtract, .multiply, .divide, .divide, .modulus, .absolute, .power,
    ])
    // A Boolean is a number beside others only.
    if function == .absolute {
      return .function(
        .absolute, [.function(.add, [number(base, depth: depth - 1), .constant(.integer(0))])])
    }
    return .function(function, (0..<2).map { _ in number(base, depth: depth - 1) })
  }

  /// Dates with seconds added or taken away, and the seconds between two.
  private mutating func moments(_ base: Base) -> FetchPredicate? {
    let dates: [String: String] = ["Agent": "moment", "Pilot": "moment", "Visit": "day"]
    guard let name = dates[base.entity] else { return nil }
    let operation = random.pick([ComparisonOperator.less, .equal, .greaterOrEqual])
    let day = FetchExpression.constant(random.pick([.integer(86_400), .double(-86_400), .decimal(86_400)]))
    if random.chance(40) {
      let other = values.value(.date, &random, nilChance: 0)
      return .compare(
        FetchComparison(.function(.subtract, [base.key(name), .constant(other)]), operation, day))
    }
    return .compare(
      FetchComparison(
        .function(random.pick([.add, .subtract]), [base.key(name), day]), operation,
        .constant(values.value(.date, &random, nilChance: 8))))
  }

  private mutating func calculated(_ base: Base) -> FetchPredicate {
    let texts: [String: [String]] = [
      "Agent": ["name", "nick"], "Pilot": ["name", "nick"], "Place": ["name", "code"],
    ]
    if let names = texts[base.entity], random.chance(40) {
      let key = base.key(random.pick(names))
      switch random.below(4) {
      case 0:
        return .compare(
          FetchComparison(
            .function(.length, [key]), random.pick([.less, .equal, .greater]),
            .constant(.integer(Int64(random.below(6))))))
      case 1:
        return .compare(
          FetchComparison(
            .function(.concatenate, [key, .constant("!")]), .equal,
            .constant(.string(random.pick(QueryValues.texts) + "!"))))
      case 2:
        return .compare(
          FetchComparison(
            .function(.coalesce, [key, .constant("none")]), random.pick([.equal, .beginsWith]), .constant("n")
          ))
      default:
        return .compare(
          FetchComparison(
            .function(random.chance(50) ? .uppercase : .lowercase, [key]), .like,
            .constant(.string(random.pick(["ANN*", "*É", "zo?", "*"])))))
      }
    }
    if random.chance(15), let moments = moments(base) { return moments }
    return .compare(
      FetchComparison(
        number(base, depth: 2), random.pick([.less, .equal, .notEqual, .greaterOrEqual]),
        number(base, depth: 1)))
  }

  private mutating func conditional(_ base: Base) -> FetchPredicate {
    .compare(
      FetchComparison(
        .conditional(own(base), number(base, depth: 0), number(base, depth: 1)),
        random.pick([.less, .equal, .greaterOrEqual]), .constant(.integer(Int64(random.below(5) - 2)))))
  }

  /// Members compared with a value of the owner.
  private mutating func mixed(_ base: Base) -> FetchPredicate {
    guard let path = path(base.entity, isToMany: true) else { return keys(base) }
    let numbers: [String: String] = [
      "Agent": "medium", "Pilot": "hours", "Place": "size", "Visit": "score", "Tag": "weight",
      "Desk": "number",
    ]
    guard let left = numbers[path.entity], let right = numbers[base.entity] else { return keys(base) }
    return .compare(
      FetchComparison(
        base.path(path.names + [left]), random.pick([.less, .equal, .greaterOrEqual, .notEqual]),
        base.key(right),
        quantifier: random.pick([.any, .all])))
  }

  // MARK: Sorts

  mutating func sorts(_ entity: String) -> [FetchSort] {
    (0..<random.below(4)).map { _ in
      let isOwn = random.chance(60)
      let path = isOwn ? nil : path(entity, isToMany: false)
      let attribute = attribute(path?.entity ?? entity)
      return FetchSort(
        ((path?.names ?? []) + [attribute.name]).joined(separator: "."), ascending: random.chance(50))
    }
  }
}
