import numpy as np
import torch
from torch.distributions import Categorical, Normal

from ntdcfe import Continuous, Discrete, Features, OneHot
from ntdcfe.problem.space import Space
from ntdcfe.search.policy import CompactPolicy, PaperPolicy

FEATURES = Features(
    [Continuous(), Discrete([5, 7, 9]), Continuous(role="immutable"), OneHot(2), Continuous()],
    actionable_steps=slice(2, None),
)
SPACE = Space(FEATURES.encode(np.tile([0.1, 7.0, 0.3, 0.0, 1.0, 0.5], (6, 1))), FEATURES)


def policy(seed=0):
    return PaperPolicy(SPACE, (16, 8), torch.Generator().manual_seed(seed))


def states(n):
    return np.repeat(SPACE.original[None], n, axis=0)


def test_only_what_may_be_acted_on_is_sampled():
    network = policy()
    action = network(network.inputs(states(500))).sample(torch.Generator().manual_seed(1))
    intervention = network.intervention(action)
    assert set(intervention.feature) == {0, 1, 3, 4}
    assert set(intervention.step) == {2, 3, 4, 5}
    assert set(intervention.strength[intervention.feature == 1]) == {5, 7, 9}
    assert set(intervention.strength[intervention.feature == 3]) == {0, 1}


def test_log_probabilities_are_those_of_torch():
    network = policy()
    pi = network(network.inputs(states(64)))
    action = pi.sample(torch.Generator().manual_seed(2))
    got = pi.log_prob(action)
    for i in range(64):
        feature = int(action.feature[i])
        strength = (
            Categorical(logits=pi.value[i, feature]).log_prob(action.strength[i].long())
            if pi.discrete[feature]
            else Normal(pi.mean[i, feature], pi.std[i, feature]).log_prob(action.strength[i])
        )
        expected = (
            Categorical(logits=pi.step[i]).log_prob(action.step[i])
            + Categorical(logits=pi.feature[i]).log_prob(action.feature[i])
            + strength
        )
        torch.testing.assert_close(got[i], expected)


def test_log_probability_has_a_finite_gradient():
    network = policy()
    pi = network(network.inputs(states(64)))
    pi.log_prob(pi.sample(torch.Generator().manual_seed(3))).sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in network.parameters())


def test_categories_are_fed_one_hot():
    assert policy().inputs(states(2)).shape == (2, 6 * (1 + 3 + 1 + 2 + 1))


def test_the_generator_decides_and_the_global_seed_is_left_alone():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    a, b, c = policy(1), policy(1), policy(2)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(a.heads.weight, b.heads.weight)
    assert not torch.equal(a.heads.weight, c.heads.weight)


def test_sizes_of_the_paper():
    network = PaperPolicy(SPACE, (1000, 100), torch.Generator())
    assert [
        (layer.in_features, layer.out_features) for layer in network.body if isinstance(layer, torch.nn.Linear)
    ] == [
        (48, 1000),
        (1000, 100),
    ]


def test_units_near_the_least_number_give_finite_inputs():
    features = Features.continuous(2, bounds=(5e-324, 1e-320))
    space = Space(np.full((3, 2), 1e-321), features, units=np.full(2, 1e-321))
    policy = CompactPolicy(space, (4,), torch.Generator())
    with np.errstate(all="ignore"):
        inputs = policy.inputs(np.array([[[1.0, -1.0]] * 3]))
    assert inputs.tolist() == [[1e6, -1e6]]
